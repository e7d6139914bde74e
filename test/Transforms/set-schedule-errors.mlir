// RUN: flash-opt %s --flash-set-schedule -verify-diagnostics -split-input-file

// expected-error @below {{expected the module attribute flash.target, such as #flash.target<"x86-64-v3">}}
module {}

// -----

module attributes {flash.target = #flash.target<"sm_86">} {
  func.func @memory(%q: tensor<?x?x2x192xf16>, %k: tensor<?x?x2x192xf16>, %v: tensor<?x?x2x128xf16>) {
    // expected-error @below {{schedule does not fit sm_86: expected at most 101376 bytes of shared memory per block, got 131072; choose a smaller tile or fewer stages}}
    %o = flash.attention %q, %k, %v {scale = 1.0 : f32, schedule = #flash.schedule<tile = [128, 64], micro = [32, 32], stages = 2>}
      : tensor<?x?x2x192xf16>, tensor<?x?x2x192xf16>, tensor<?x?x2x128xf16> -> tensor<?x?x2x128xf16>
    return
  }
}

// -----

module attributes {flash.target = #flash.target<"x86-64-v3">} {
  func.func @lanes(%q: tensor<?x?x2x32xf32>) {
    // expected-error @below {{schedule does not fit x86-64-v3: expected micro columns that are a multiple of the 8 f32 lanes of x86-64-v3, got 12}}
    %o = flash.attention %q, %q, %q
      {scale = 1.0 : f32, schedule = #flash.schedule<tile = [4, 24], micro = [4, 12], strategy = online>}
      : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32>
    return
  }
}

// -----

module attributes {flash.target = #flash.target<"x86-64-v3">} {
  func.func @columns(%q: tensor<?x?x2x32xf32>) {
    // expected-error @below {{expected tile columns that are a multiple of the 16 micro columns, got 24}}
    %o = flash.attention %q, %q, %q
      {scale = 1.0 : f32, schedule = #flash.schedule<tile = [4, 24], micro = [4, 16], strategy = online>}
      : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32>
    return
  }
}

// -----

module attributes {flash.target = #flash.target<"x86-64-v3">} {
  func.func @registers(%q: tensor<?x?x2x32xf32>) {
    // expected-error @below {{expected a micro-tile of at most 16 vector registers, got 37; choose a smaller micro}}
    %o = flash.attention %q, %q, %q
      {scale = 1.0 : f32, schedule = #flash.schedule<tile = [8, 32], micro = [8, 32], strategy = online>}
      : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32>
    return
  }
}

// -----

module attributes {flash.target = #flash.target<"x86-64-v3">} {
  func.func @cache(%q: tensor<?x?x2x32xf32>) {
    // expected-error-re @below {{expected a working set of at most {{[0-9]+}} bytes of second-level cache, got {{[0-9]+}}; choose a smaller tile}}
    %o = flash.attention %q, %q, %q
      {scale = 1.0 : f32, schedule = #flash.schedule<tile = [6000, 6400], micro = [6, 16], strategy = online>}
      : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32>
    return
  }
}
