// RUN: flash-opt %s --pass-pipeline='builtin.module(func.func(flash-decompose))' -verify-diagnostics -split-input-file

func.func @online(%q: tensor<1x8x2x32xf32>) -> tensor<1x2x8xf32> {
  // expected-error @below {{expected the tile form, got whole tensors; run flash-tile first}}
  %m, %l, %acc = flash.online_attention %q, %q, %q {scale = 1.0 : f32}
    : tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>
    -> tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<1x2x8x32xf32>
  return %m : tensor<1x2x8xf32>
}

// -----

func.func @finalize(%m: tensor<1x2x8xf32>, %acc: tensor<1x2x8x32xf32>) -> tensor<1x8x2x32xf32> {
  // expected-error @below {{expected the tile form, got whole tensors; run flash-tile first}}
  %o, %lse = flash.finalize %m, %m, %acc
    : tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<1x2x8x32xf32> -> tensor<1x8x2x32xf32>, tensor<1x2x8xf32>
  return %o : tensor<1x8x2x32xf32>
}

// -----

func.func @captures(%q: tensor<4x32xf32>, %x: tensor<?xf32>, %i: index) -> tensor<4x4xf32> {
  // expected-error @below {{expected captures in memory, got 'tensor<?xf32>'; run flash-tile first}}
  %s, %keep = flash.scores %q, %q at(%i, %i, %i, %i, %i, %i) captures(%x : tensor<?xf32>) {scale = 1.0 : f32}
    : tensor<4x32xf32>, tensor<4x32xf32> -> tensor<4x4xf32>, tensor<4x4xi1>
  return %s : tensor<4x4xf32>
}

// -----

func.func @read(%x: tensor<?xf32>, %i: index) -> f32 {
  // expected-error @below {{expected captures in memory, got 'tensor<?xf32>'; run flash-tile first}}
  %v = flash.read %x[%i] : tensor<?xf32> -> f32
  return %v : f32
}
