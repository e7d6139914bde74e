// RUN: flash-opt %s -verify-diagnostics -split-input-file
//
// One function per numbered constraint of the ops on the softmax state, named by its label.

func.func @O1_at(%q: tensor<64x32xf32>, %i: index) {
  // expected-error @below {{(O1) expected at(b, h, i0, j0, sq, sk), got 2 values}}
  flash.online_attention %q, %q, %q at(%i, %i) {scale = 1.0 : f32}
    : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>
    -> tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>
  return
}

// -----

func.func @O1_rank(%q: tensor<1x64x2x32xf32>, %i: index) {
  // expected-error @below {{(O1) expected q, k and v of rank 2 with at, got ranks 4, 4, 4}}
  flash.online_attention %q, %q, %q at(%i, %i, %i, %i, %i, %i) {scale = 1.0 : f32}
    : tensor<1x64x2x32xf32>, tensor<1x64x2x32xf32>, tensor<1x64x2x32xf32>
    -> tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>
  return
}

// -----

func.func @O2_values(%q: tensor<64x32xf32>, %v: tensor<32x32xf32>, %i: index) {
  // expected-error @below {{(O2) expected v of shape [64, 32], got [32, 32]}}
  flash.online_attention %q, %q, %v at(%i, %i, %i, %i, %i, %i) {scale = 1.0 : f32}
    : tensor<64x32xf32>, tensor<64x32xf32>, tensor<32x32xf32>
    -> tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>
  return
}

// -----

func.func @O2_state(%q: tensor<1x64x2x32xf32>) {
  // expected-error @below {{(O2) expected m of shape [1, 2, 64], got [1, 64, 2]}}
  flash.online_attention %q, %q, %q {scale = 1.0 : f32}
    : tensor<1x64x2x32xf32>, tensor<1x64x2x32xf32>, tensor<1x64x2x32xf32>
    -> tensor<1x64x2xf32>, tensor<1x2x64xf32>, tensor<1x2x64x32xf32>
  return
}

// -----

func.func @O2_acc(%q: tensor<64x32xf32>, %i: index) {
  // expected-error @below {{(O2) expected acc of shape [64, 32], got [64, 16]}}
  flash.online_attention %q, %q, %q at(%i, %i, %i, %i, %i, %i) {scale = 1.0 : f32}
    : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>
    -> tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>
  return
}

// -----

func.func @O3(%q: tensor<64x32xf32>, %m: tensor<64xf32>, %i: index) {
  // expected-error @below {{(O3) expected init (m, l, acc) in the types of the results, got 2 values}}
  flash.online_attention %q, %q, %q init(%m, %m : tensor<64xf32>, tensor<64xf32>)
    at(%i, %i, %i, %i, %i, %i) {scale = 1.0 : f32}
    : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>
    -> tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>
  return
}

// -----

func.func @O4(%q: tensor<64x32xf32>, %i: index) {
  // expected-error @below {{(A9) expected the mask region to yield 'i1'}}
  flash.online_attention %q, %q, %q at(%i, %i, %i, %i, %i, %i)
    mask (%b: index, %h: index, %i1: index, %j: index, %sq: index, %sk: index) {
      %c = arith.constant 1.0 : f32
      flash.yield %c : f32
    }
    {scale = 1.0 : f32}
    : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>
    -> tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>
  return
}

// -----

func.func @O5(%q: tensor<1x64x2x32xf32>) {
  // expected-error @below {{(O5) expected boundary and heads on the tile form only}}
  flash.online_attention %q, %q, %q {boundary, scale = 1.0 : f32}
    : tensor<1x64x2x32xf32>, tensor<1x64x2x32xf32>, tensor<1x64x2x32xf32>
    -> tensor<1x2x64xf32>, tensor<1x2x64xf32>, tensor<1x2x64x32xf32>
  return
}

// -----

func.func @O6(%q: tensor<1x64x2x32xf32>) {
  // expected-error @below {{(O6) expected base 0 or 2, got 10}}
  flash.online_attention %q, %q, %q {base = 10 : i32, scale = 1.0 : f32}
    : tensor<1x64x2x32xf32>, tensor<1x64x2x32xf32>, tensor<1x64x2x32xf32>
    -> tensor<1x2x64xf32>, tensor<1x2x64xf32>, tensor<1x2x64x32xf32>
  return
}

// -----

func.func @O7_form(%q: tensor<1x64x2x32xf32>) {
  // expected-error @below {{(O7) expected a fixed reference on the tile form, with init}}
  flash.online_attention %q, %q, %q {fixed, scale = 1.0 : f32}
    : tensor<1x64x2x32xf32>, tensor<1x64x2x32xf32>, tensor<1x64x2x32xf32>
    -> tensor<1x2x64xf32>, tensor<1x2x64xf32>, tensor<1x2x64x32xf32>
  return
}

// -----

func.func @O7_init(%q: tensor<64x32xf32>, %i: index) {
  // expected-error @below {{(O7) expected a fixed reference on the tile form, with init}}
  flash.online_attention %q, %q, %q at(%i, %i, %i, %i, %i, %i) {fixed, scale = 1.0 : f32}
    : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32> -> tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>
  return
}

// -----

func.func @M1(%m: tensor<64xf32>, %acc: tensor<64x32xf32>, %n: tensor<32xf32>) {
  // expected-error @below {{(M1) expected states of one type}}
  "flash.merge"(%m, %m, %acc, %n, %m, %acc) {base = 2 : i32}
    : (tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>, tensor<32xf32>, tensor<64xf32>, tensor<64x32xf32>)
    -> (tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>)
  return
}

// -----

func.func @M2(%m: tensor<64xf32>, %acc: tensor<32x32xf32>) {
  // expected-error @below {{(M2) expected acc of shape [64, ?], got [32, 32]}}
  flash.merge (%m, %m, %acc), (%m, %m, %acc) : tensor<64xf32>, tensor<64xf32>, tensor<32x32xf32>
  return
}

// -----

func.func @K1(%sinks: tensor<2xf32>) {
  // expected-error @below {{(K1) expected m of rank 3 for sinks of type 'tensor<2xf32>', got rank 1}}
  flash.sink_state %sinks : tensor<2xf32> -> tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32>
  return
}

// -----

func.func @K2(%sink: f32) {
  // expected-error @below {{(K2) expected l of shape [64], got [32]}}
  flash.sink_state %sink : f32 -> tensor<64xf32>, tensor<32xf32>, tensor<64x32xf32>
  return
}

// -----

func.func @F1(%m: tensor<64xf32>, %acc: tensor<64xf32>) {
  // expected-error @below {{(F1) expected acc of shape [64, ?], got [64]}}
  flash.finalize %m, %m, %acc : tensor<64xf32>, tensor<64xf32>, tensor<64xf32> -> tensor<64x32xf32>, tensor<64xf32>
  return
}

// -----

func.func @F2_lse(%m: tensor<64xf32>, %acc: tensor<64x32xf32>) {
  // expected-error @below {{(F2) expected lse in the type of m, 'tensor<64xf32>', got 'tensor<?xf32>'}}
  flash.finalize %m, %m, %acc : tensor<64xf32>, tensor<64xf32>, tensor<64x32xf32> -> tensor<64x32xf32>, tensor<?xf32>
  return
}

// -----

func.func @F2_output(%m: tensor<1x2x64xf32>, %acc: tensor<1x2x64x32xf32>) {
  // expected-error @below {{(F2) expected o of shape [1, 64, 2, 32], got [1, 2, 64, 32]}}
  flash.finalize %m, %m, %acc : tensor<1x2x64xf32>, tensor<1x2x64xf32>, tensor<1x2x64x32xf32> -> tensor<1x2x64x32xf32>, tensor<1x2x64xf32>
  return
}

// -----

func.func @F2_rank(%m: tensor<2x64xf32>, %acc: tensor<2x64x32xf32>) {
  // expected-error @below {{(F2) expected a state of rank 1 or 3, got rank 2}}
  flash.finalize %m, %m, %acc : tensor<2x64xf32>, tensor<2x64xf32>, tensor<2x64x32xf32> -> tensor<2x64x32xf32>, tensor<2x64xf32>
  return
}

// -----

func.func @S1_inputs(%q: tensor<64x32xf32>, %k: tensor<64x16xf32>, %i: index) {
  // expected-error @below {{(S1) expected q [Br, D] and k [Bc, D] of one element type, got 'tensor<64x32xf32>' and 'tensor<64x16xf32>'}}
  flash.scores %q, %k at(%i, %i, %i, %i, %i, %i) {scale = 1.0 : f32} : tensor<64x32xf32>, tensor<64x16xf32> -> tensor<64x64xf32>, tensor<64x64xi1>
  return
}

// -----

func.func @S1_results(%q: tensor<64x32xf32>, %i: index) {
  // expected-error @below {{(S1) expected keep of shape [64, 64], got [64, 32]}}
  flash.scores %q, %q at(%i, %i, %i, %i, %i, %i) {scale = 1.0 : f32} : tensor<64x32xf32>, tensor<64x32xf32> -> tensor<64x64xf32>, tensor<64x32xi1>
  return
}

// -----

func.func @S2(%q: tensor<64x32xf32>, %i: index) {
  // expected-error @below {{(S2) expected at(b, h, i0, j0, sq, sk), got 0 values}}
  flash.scores %q, %q {scale = 1.0 : f32} : tensor<64x32xf32>, tensor<64x32xf32> -> tensor<64x64xf32>, tensor<64x64xi1>
  return
}

// -----

func.func @S3(%q: tensor<64x32xf32>, %i: index) {
  flash.scores %q, %q at(%i, %i, %i, %i, %i, %i)
    mask (%b: index, %h: index, %i1: index, %j: index, %sq: index, %sk: index) {
      // expected-error @below {{(A10) expected an op of the closed list in a mask region (arith, math exp exp2 log tanh absf absi floor sqrt, flash.read, flash.yield), got math.ctlz}}
      %x = math.ctlz %i1 : index
      %keep = arith.cmpi sle, %j, %x : index
      flash.yield %keep : i1
    }
    {scale = 1.0 : f32} : tensor<64x32xf32>, tensor<64x32xf32> -> tensor<64x64xf32>, tensor<64x64xi1>
  return
}

// -----

func.func @O1_static(%q: tensor<?x32xf32>, %i: index) {
  // expected-error @below {{(O1) expected tiles of static shape, got 'tensor<?x32xf32>' and 'tensor<?x32xf32>'}}
  flash.online_attention %q, %q, %q at(%i, %i, %i, %i, %i, %i) {scale = 1.0 : f32}
    : tensor<?x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>
    -> tensor<?xf32>, tensor<?xf32>, tensor<?x32xf32>
  return
}

// -----

func.func @S1_static(%q: tensor<?x32xf32>, %i: index) {
  // expected-error @below {{(S1) expected tiles of static shape, got 'tensor<?x32xf32>' and 'tensor<?x32xf32>'}}
  flash.scores %q, %q at(%i, %i, %i, %i, %i, %i) {scale = 1.0 : f32} : tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x?xf32>, tensor<?x?xi1>
  return
}
