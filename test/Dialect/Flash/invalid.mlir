// RUN: flash-opt %s -verify-diagnostics -split-input-file
//
// One function per numbered constraint of flash.attention, flash.read and flash.yield, named by its label.

func.func @A1_rank(%q: tensor<8x2x32xf32>) {
  // expected-error @below {{(A1) expected q of rank 4 [batch, seq, heads, dim], got rank 3}}
  flash.attention %q, %q, %q {scale = 1.0 : f32}
    : tensor<8x2x32xf32>, tensor<8x2x32xf32>, tensor<8x2x32xf32> -> tensor<8x2x32xf32>
  return
}

// -----

func.func @A1_element_type(%q: tensor<1x8x2x32xf32>, %k: tensor<1x8x2x32xbf16>) {
  // expected-error @below {{(A1) expected q, k and v of one element type, got 'f32' and 'bf16'}}
  flash.attention %q, %k, %k {scale = 1.0 : f32}
    : tensor<1x8x2x32xf32>, tensor<1x8x2x32xbf16>, tensor<1x8x2x32xbf16> -> tensor<1x8x2x32xf32>
  return
}

// -----

func.func @A2_dynamic(%q: tensor<1x8x2x?xf32>) {
  // expected-error @below {{(A2) expected a static head dim of q in 1..576, got [?]}}
  flash.attention %q, %q, %q {scale = 1.0 : f32}
    : tensor<1x8x2x?xf32>, tensor<1x8x2x?xf32>, tensor<1x8x2x?xf32> -> tensor<1x8x2x?xf32>
  return
}

// -----

func.func @A2_too_large(%q: tensor<1x8x2x32xf32>, %v: tensor<1x8x2x577xf32>) {
  // expected-error @below {{(A2) expected a static head dim of v in 1..576, got [577]}}
  flash.attention %q, %q, %v {scale = 1.0 : f32}
    : tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>, tensor<1x8x2x577xf32> -> tensor<1x8x2x577xf32>
  return
}

// -----

func.func @A2_zero(%q: tensor<1x8x2x0xf32>) {
  // expected-error @below {{(A2) expected a static head dim of q in 1..576, got [0]}}
  flash.attention %q, %q, %q {scale = 1.0 : f32}
    : tensor<1x8x2x0xf32>, tensor<1x8x2x0xf32>, tensor<1x8x2x0xf32> -> tensor<1x8x2x0xf32>
  return
}

// -----

func.func @A2_equal(%q: tensor<1x8x2x32xf32>, %k: tensor<1x8x2x64xf32>) {
  // expected-error @below {{(A2) expected equal head dims of q and k, got 32 and 64}}
  flash.attention %q, %k, %k {scale = 1.0 : f32}
    : tensor<1x8x2x32xf32>, tensor<1x8x2x64xf32>, tensor<1x8x2x64xf32> -> tensor<1x8x2x64xf32>
  return
}

// -----

func.func @A3_batch(%q: tensor<1x8x2x32xf32>, %k: tensor<2x8x2x32xf32>) {
  // expected-error @below {{(A3) expected agreeing batch, key and kv head sizes, got q [1, 8, 2, 32], k [2, 8, 2, 32], v [2, 8, 2, 32]}}
  flash.attention %q, %k, %k {scale = 1.0 : f32}
    : tensor<1x8x2x32xf32>, tensor<2x8x2x32xf32>, tensor<2x8x2x32xf32> -> tensor<1x8x2x32xf32>
  return
}

// -----

func.func @A3_keys(%q: tensor<1x8x2x32xf32>, %v: tensor<1x9x2x32xf32>) {
  // expected-error @below {{(A3) expected agreeing batch, key and kv head sizes, got q [1, 8, 2, 32], k [1, 8, 2, 32], v [1, 9, 2, 32]}}
  flash.attention %q, %q, %v {scale = 1.0 : f32}
    : tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>, tensor<1x9x2x32xf32> -> tensor<1x8x2x32xf32>
  return
}

// -----

func.func @A4(%q: tensor<1x8x5x32xf32>, %k: tensor<1x8x2x32xf32>) {
  // expected-error @below {{(A4) expected query heads that are a multiple of the kv heads, got 5 and 2}}
  flash.attention %q, %k, %k {scale = 1.0 : f32}
    : tensor<1x8x5x32xf32>, tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32> -> tensor<1x8x5x32xf32>
  return
}

// -----

func.func @A4_none(%q: tensor<1x8x4x32xf32>, %k: tensor<1x8x0x32xf32>) {
  // expected-error @below {{(A4) expected query heads that are a multiple of the kv heads, got 4 and 0}}
  flash.attention %q, %k, %k {scale = 1.0 : f32}
    : tensor<1x8x4x32xf32>, tensor<1x8x0x32xf32>, tensor<1x8x0x32xf32> -> tensor<1x8x4x32xf32>
  return
}

// -----

func.func @A5_shape(%q: tensor<1x8x2x32xf32>, %v: tensor<1x8x2x16xf32>) {
  // expected-error @below {{(A5) expected o of shape [1, 8, 2, 16], got [1, 8, 2, 32]}}
  flash.attention %q, %q, %v {scale = 1.0 : f32}
    : tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>, tensor<1x8x2x16xf32> -> tensor<1x8x2x32xf32>
  return
}

// -----

func.func @A5_element_type(%q: tensor<1x8x2x32xbf16>) {
  // expected-error @below {{(A5) expected o in the element type of q, 'bf16', got 'f32'}}
  flash.attention %q, %q, %q {scale = 1.0 : f32}
    : tensor<1x8x2x32xbf16>, tensor<1x8x2x32xbf16>, tensor<1x8x2x32xbf16> -> tensor<1x8x2x32xf32>
  return
}

// -----

func.func @A6_lse(%q: tensor<1x8x2x32xf32>) {
  // expected-error @below {{(A6) expected lse of shape [1, 2, 8], got [1, 8, 2]}}
  flash.attention %q, %q, %q {lse, scale = 1.0 : f32}
    : tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>
    -> tensor<1x8x2x32xf32>, tensor<1x8x2xf32>
  return
}

// -----

func.func @A6_row_max(%q: tensor<1x8x2x32xf32>) {
  // expected-error @below {{(A6) expected row_max of shape [1, 2, 8], got [2, 8]}}
  flash.attention %q, %q, %q {row_max, scale = 1.0 : f32}
    : tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>
    -> tensor<1x8x2x32xf32>, tensor<2x8xf32>
  return
}

// -----

func.func @A7_together(%q: tensor<1x?x2x32xf32>, %cu: tensor<?xi32>) {
  // expected-error @below {{(A7) expected cu_seqlens_q and cu_seqlens_k together, got one}}
  flash.attention %q, %q, %q cu_seqlens_q(%cu : tensor<?xi32>) {scale = 1.0 : f32}
    : tensor<1x?x2x32xf32>, tensor<1x?x2x32xf32>, tensor<1x?x2x32xf32> -> tensor<1x?x2x32xf32>
  return
}

// -----

func.func @A7_batch(%q: tensor<2x?x2x32xf32>, %cu: tensor<?xi32>) {
  // expected-error @below {{(A7) expected a batch size of 1 for packed sequences, got 2}}
  flash.attention %q, %q, %q cu_seqlens_q(%cu : tensor<?xi32>) cu_seqlens_k(%cu : tensor<?xi32>)
    {scale = 1.0 : f32}
    : tensor<2x?x2x32xf32>, tensor<2x?x2x32xf32>, tensor<2x?x2x32xf32> -> tensor<2x?x2x32xf32>
  return
}

// -----

func.func @A8(%q: tensor<1x8x2x32xf32>, %sinks: tensor<3xf32>) {
  // expected-error @below {{(A8) expected sinks of shape [2], got [3]}}
  flash.attention %q, %q, %q sinks(%sinks : tensor<3xf32>) {scale = 1.0 : f32}
    : tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32> -> tensor<1x8x2x32xf32>
  return
}

// -----

func.func @A9_arguments(%q: tensor<1x8x2x32xf32>) {
  // expected-error @below {{(A9) expected a mask region of one block with arguments ('index', 'index', 'index', 'index', 'index', 'index'), got ('index', 'index')}}
  flash.attention %q, %q, %q
    mask (%i: index, %j: index) {
      %keep = arith.cmpi sle, %j, %i : index
      flash.yield %keep : i1
    }
    {scale = 1.0 : f32}
    : tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32> -> tensor<1x8x2x32xf32>
  return
}

// -----

func.func @A9_captures(%q: tensor<1x8x2x32xf32>, %slopes: tensor<2xf32>) {
  // expected-error @below {{(A9) expected a score region of one block with arguments ('f32', 'index', 'index', 'index', 'index', 'index', 'index', 'tensor<2xf32>')}}
  flash.attention %q, %q, %q captures(%slopes : tensor<2xf32>)
    score (%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index) {
      flash.yield %s : f32
    }
    {scale = 1.0 : f32}
    : tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32> -> tensor<1x8x2x32xf32>
  return
}

// -----

func.func @A9_yield(%q: tensor<1x8x2x32xf32>) {
  // expected-error @below {{(A9) expected the score region to yield 'f32'}}
  flash.attention %q, %q, %q
    score (%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index) {
      %keep = arith.cmpi sle, %j, %i : index
      flash.yield %keep : i1
    }
    {scale = 1.0 : f32}
    : tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32> -> tensor<1x8x2x32xf32>
  return
}

// -----

func.func @A10(%q: tensor<1x8x2x32xf32>) {
  flash.attention %q, %q, %q
    score (%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index) {
      // expected-error @below {{(A10) expected an op of the closed list in a score region (arith, math exp exp2 log tanh absf absi floor sqrt, flash.read, flash.yield), got math.sin}}
      %r = math.sin %s : f32
      flash.yield %r : f32
    }
    {scale = 1.0 : f32}
    : tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32> -> tensor<1x8x2x32xf32>
  return
}

// -----

func.func @results_named(%q: tensor<1x8x2x32xf32>) {
  // expected-error @below {{expected 1 result types (o), got 2; name the further results by the attributes lse and row_max}}
  flash.attention %q, %q, %q {scale = 1.0 : f32}
    : tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>
    -> tensor<1x8x2x32xf32>, tensor<1x2x8xf32>
  return
}

// -----

func.func @isolated(%q: tensor<1x8x2x32xf32>, %x: f32) {
  // expected-note @below {{required by region isolation constraints}}
  flash.attention %q, %q, %q
    score (%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index) {
      // expected-error @below {{using value defined outside the region}}
      %r = arith.addf %s, %x : f32
      flash.yield %r : f32
    }
    {scale = 1.0 : f32}
    : tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32> -> tensor<1x8x2x32xf32>
  return
}

// -----

func.func @R1(%array: tensor<?x?xf32>, %i: index) {
  // expected-error @below {{(R1) expected as many indices as dimensions of 'tensor<?x?xf32>', got 1}}
  %x = flash.read %array[%i] : tensor<?x?xf32> -> f32
  return
}

// -----

func.func @R2(%array: tensor<?xi8>, %i: index) {
  // expected-error @below {{(R2) expected a result of i64 from 'i8', got 'f32'}}
  %x = flash.read %array[%i] : tensor<?xi8> -> f32
  return
}

// -----

func.func @A10_types(%q: tensor<1x8x2x32xf32>) {
  flash.attention %q, %q, %q
    score (%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index) {
      // expected-error @below {{(A10) expected values of index, i64, f32 and i1 in a score region, got 'f64'}}
      %wide = arith.extf %s : f32 to f64
      flash.yield %s : f32
    }
    {scale = 1.0 : f32}
    : tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32> -> tensor<1x8x2x32xf32>
  return
}

// -----

func.func @A10_partial(%q: tensor<1x8x2x32xf32>) {
  flash.attention %q, %q, %q
    mask (%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index) {
      // expected-error @below {{(A10) expected an op of the closed list in a mask region}}
      %x = arith.floordivsi %i, %j : index
      %keep = arith.cmpi sle, %j, %x : index
      flash.yield %keep : i1
    }
    {scale = 1.0 : f32}
    : tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32> -> tensor<1x8x2x32xf32>
  return
}

// -----

func.func @unranked(%q: tensor<*xf32>) {
  // expected-error @below {{operand #0 must be ranked tensor of 32-bit float or bfloat16 type or 16-bit float values, but got 'tensor<*xf32>'}}
  flash.attention %q, %q, %q {scale = 1.0 : f32} : tensor<*xf32>, tensor<*xf32>, tensor<*xf32> -> tensor<*xf32>
  return
}

// -----

func.func @A12_used(%q: tensor<2x?x2x32xf32>, %table: tensor<2x?xi32>) {
  // expected-error @below {{(A12) expected page_table with seqused_k and without cu_seqlens_q, got no seqused_k}}
  flash.attention %q, %q, %q page_table(%table : tensor<2x?xi32>) {scale = 1.0 : f32}
    : tensor<2x?x2x32xf32>, tensor<2x?x2x32xf32>, tensor<2x?x2x32xf32> -> tensor<2x?x2x32xf32>
  return
}

// -----

func.func @A12_packed(%q: tensor<1x?x2x32xf32>, %cu: tensor<?xi32>, %table: tensor<?x?xi32>) {
  // expected-error @below {{(A12) expected page_table with seqused_k and without cu_seqlens_q, got cu_seqlens_q}}
  flash.attention %q, %q, %q cu_seqlens_q(%cu : tensor<?xi32>) cu_seqlens_k(%cu : tensor<?xi32>)
    seqused_k(%cu : tensor<?xi32>) page_table(%table : tensor<?x?xi32>) {scale = 1.0 : f32}
    : tensor<1x?x2x32xf32>, tensor<1x?x2x32xf32>, tensor<1x?x2x32xf32> -> tensor<1x?x2x32xf32>
  return
}

// -----

func.func @A12_batch(%q: tensor<2x?x2x32xf32>, %used: tensor<2xi32>, %table: tensor<3x?xi32>) {
  // expected-error @below {{(A12) expected page_table of shape [2, ?], got [3, ?]}}
  flash.attention %q, %q, %q seqused_k(%used : tensor<2xi32>) page_table(%table : tensor<3x?xi32>) {scale = 1.0 : f32}
    : tensor<2x?x2x32xf32>, tensor<2x?x2x32xf32>, tensor<2x?x2x32xf32> -> tensor<2x?x2x32xf32>
  return
}

// -----

func.func @O8_used(%q: tensor<2x?x2x32xf32>, %table: tensor<2x?xi32>) {
  // expected-error @below {{(O8) expected page_table with seqused_k and without cu_seqlens_q, got no seqused_k}}
  flash.online_attention %q, %q, %q page_table(%table : tensor<2x?xi32>) {scale = 1.0 : f32}
    : tensor<2x?x2x32xf32>, tensor<2x?x2x32xf32>, tensor<2x?x2x32xf32>
    -> tensor<2x2x?xf32>, tensor<2x2x?xf32>, tensor<2x2x?x32xf32>
  return
}

// -----

func.func @O8_tile(%q: tensor<8x32xf32>, %i: index, %table: tensor<2x?xi32>) {
  // expected-error @below {{(O8) expected page_table on whole tensors only}}
  flash.online_attention %q, %q, %q at(%i, %i, %i, %i, %i, %i) page_table(%table : tensor<2x?xi32>) {scale = 1.0 : f32}
    : tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>
    -> tensor<8xf32>, tensor<8xf32>, tensor<8x32xf32>
  return
}
