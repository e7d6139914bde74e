// RUN: flash-opt %s -verify-diagnostics -split-input-file
//
// One function per numbered constraint, named by its label.

// expected-error @below {{(F1) expected positive numbers of warps, got [4, 0]}}
func.func private @F1_fragment(tensor<128x64xf32, #nvtile.fragment<warps = [4, 0]>>)

// -----

// expected-error @below {{(F1) expected a positive number of warps, got -1}}
func.func private @F1_operand(tensor<128x64xf32, #nvtile.operand<warps = -1>>)

// -----

// expected-error @below {{(F1) expected a positive number of warps, got 0}}
func.func private @F1_lines(tensor<4x128xf32, #nvtile.lines<warps = 0>>)

// -----

func.func @A1_alloc(%s: !nvtile.shared<2 x 64 x 64 x bf16>) {
  // expected-error @below {{(A1) expected memory below that is an nvtile.alloc's, got another value}}
  %t = nvtile.alloc : !nvtile.shared<1 x 64 x 64 x bf16> over %s : !nvtile.shared<2 x 64 x 64 x bf16>
  return
}

// -----

func.func @A1_bytes() {
  %s = nvtile.alloc : !nvtile.shared<1 x 64 x 64 x bf16>
  // expected-error @below {{(A1) expected at most 8192 bytes, those of the memory below, got 16384}}
  %t = nvtile.alloc : !nvtile.shared<2 x 64 x 64 x bf16> over %s : !nvtile.shared<1 x 64 x 64 x bf16>
  return
}

// -----

func.func @P1_offsets(%m: memref<?x?xbf16>, %s: !nvtile.shared<1 x 16 x 16 x bf16>, %i: index) {
  // expected-error @below {{(P1) expected 2 offsets, two distinct dims of 'memref<?x?xbf16>' and two valid sizes, got 1, [0, 1] and 2}}
  nvtile.copy %m[%i] dims [0, 1] valid(%i, %i) to %s[%i] : memref<?x?xbf16>, !nvtile.shared<1 x 16 x 16 x bf16>
  return
}

// -----

func.func @P1_distinct(%m: memref<?x?xbf16>, %s: !nvtile.shared<1 x 16 x 16 x bf16>, %i: index) {
  // expected-error @below {{(P1) expected 2 offsets, two distinct dims of 'memref<?x?xbf16>' and two valid sizes, got 2, [1, 1] and 2}}
  nvtile.copy %m[%i, %i] dims [1, 1] valid(%i, %i) to %s[%i] : memref<?x?xbf16>, !nvtile.shared<1 x 16 x 16 x bf16>
  return
}

// -----

func.func @P1_in_range(%m: memref<?x?xbf16>, %s: !nvtile.shared<1 x 16 x 16 x bf16>, %i: index) {
  // expected-error @below {{(P1) expected 2 offsets, two distinct dims of 'memref<?x?xbf16>' and two valid sizes, got 2, [0, 2] and 2}}
  nvtile.copy %m[%i, %i] dims [0, 2] valid(%i, %i) to %s[%i] : memref<?x?xbf16>, !nvtile.shared<1 x 16 x 16 x bf16>
  return
}

// -----

func.func @P1_valid(%m: memref<?x?xbf16>, %s: !nvtile.shared<1 x 16 x 16 x bf16>, %i: index) {
  // expected-error @below {{(P1) expected 2 offsets, two distinct dims of 'memref<?x?xbf16>' and two valid sizes, got 2, [0, 1] and 1}}
  nvtile.copy %m[%i, %i] dims [0, 1] valid(%i) to %s[%i] : memref<?x?xbf16>, !nvtile.shared<1 x 16 x 16 x bf16>
  return
}

// -----

func.func @P2(%m: memref<?x?xf32>, %s: !nvtile.shared<1 x 16 x 16 x bf16>, %i: index) {
  // expected-error @below {{(P2) expected one element type, got 'f32' in memory and 'bf16' in the stage}}
  nvtile.copy %m[%i, %i] dims [0, 1] valid(%i, %i) to %s[%i] : memref<?x?xf32>, !nvtile.shared<1 x 16 x 16 x bf16>
  return
}

// -----

func.func @P3(%m: memref<?x?xbf16>, %table: memref<?x?xi32>, %s: !nvtile.shared<1 x 16 x 16 x bf16>, %i: index) {
  // expected-error @below {{(P3) expected a table with its row, and a first dim other than 0}}
  nvtile.copy %m[%i, %i] through %table[%i] : memref<?x?xi32> dims [0, 1] valid(%i, %i) to %s[%i] : memref<?x?xbf16>, !nvtile.shared<1 x 16 x 16 x bf16>
  return
}

// -----

func.func @R1_shape(%s: !nvtile.shared<1 x 16 x 16 x bf16>, %i: index) {
  // expected-error @below {{(R1) expected an operand tile in the shape of '!nvtile.shared<1 x 16 x 16 x bf16>', got 'tensor<16x32xbf16, #nvtile.operand<warps = 1>>'}}
  %t = nvtile.read %s[%i] : !nvtile.shared<1 x 16 x 16 x bf16> -> tensor<16x32xbf16, #nvtile.operand<warps = 1>>
  return
}

// -----

func.func @R1_element(%s: !nvtile.shared<1 x 16 x 16 x bf16>, %i: index) {
  // expected-error @below {{(R1) expected an operand tile}}
  %t = nvtile.read %s[%i] : !nvtile.shared<1 x 16 x 16 x bf16> -> tensor<16x16xf16, #nvtile.operand<warps = 1>>
  return
}

// -----

func.func @R1_layout(%s: !nvtile.shared<1 x 16 x 16 x bf16>, %i: index) {
  // expected-error @below {{(R1) expected an operand tile}}
  %t = nvtile.read %s[%i] : !nvtile.shared<1 x 16 x 16 x bf16> -> tensor<16x16xbf16, #nvtile.fragment<warps = [1, 1]>>
  return
}

// -----

#rows = #nvtile.fragment<warps = [1, 1]>
func.func @D1_terms(%a: tensor<16x32xbf16, #rows>, %s: !nvtile.shared<1 x 16 x 16 x bf16>, %i: index) {
  // expected-error @below {{(D1) expected agreeing shapes and one element type, and an f32 fragment as result, got 'tensor<16x32xbf16, #nvtile.fragment<warps = [1, 1]>>', '!nvtile.shared<1 x 16 x 16 x bf16>' and 'tensor<16x16xf32, #nvtile.fragment<warps = [1, 1]>>'}}
  %t = nvtile.dot %a, %s[%i] : tensor<16x32xbf16, #rows>, !nvtile.shared<1 x 16 x 16 x bf16> -> tensor<16x16xf32, #rows>
  return
}

// -----

#rows = #nvtile.fragment<warps = [1, 1]>
func.func @D1_columns(%a: tensor<16x16xbf16, #rows>, %s: !nvtile.shared<1 x 16 x 32 x bf16>, %i: index) {
  // Fewer columns than b has are for b transposed.
  // expected-error @below {{(D1) expected agreeing shapes}}
  %t = nvtile.dot %a, %s[%i] : tensor<16x16xbf16, #rows>, !nvtile.shared<1 x 16 x 32 x bf16> -> tensor<16x16xf32, #rows>
  return
}

// -----

#rows = #nvtile.fragment<warps = [1, 1]>
func.func @D1_element(%a: tensor<16x16xf16, #rows>, %s: !nvtile.shared<1 x 16 x 16 x bf16>, %i: index) {
  // expected-error @below {{(D1) expected agreeing shapes and one element type}}
  %t = nvtile.dot %a, %s[%i] : tensor<16x16xf16, #rows>, !nvtile.shared<1 x 16 x 16 x bf16> -> tensor<16x16xf32, #rows>
  return
}

// -----

#rows = #nvtile.fragment<warps = [1, 1]>
func.func @D1_result(%a: tensor<16x16xbf16, #rows>, %s: !nvtile.shared<1 x 16 x 16 x bf16>, %i: index) {
  // expected-error @below {{(D1) expected agreeing shapes and one element type, and an f32 fragment as result}}
  %t = nvtile.dot %a, %s[%i] : tensor<16x16xbf16, #rows>, !nvtile.shared<1 x 16 x 16 x bf16> -> tensor<16x16xbf16, #rows>
  return
}

// -----

#rows = #nvtile.fragment<warps = [1, 1]>
func.func @D1_layout(%a: tensor<16x16xbf16, #rows>, %s: !nvtile.shared<1 x 16 x 16 x bf16>, %i: index) {
  // expected-error @below {{(D1) expected agreeing shapes and one element type, and an f32 fragment as result}}
  %t = nvtile.dot %a, %s[%i] : tensor<16x16xbf16, #rows>, !nvtile.shared<1 x 16 x 16 x bf16> -> tensor<16x16xf32>
  return
}

// -----

#rows = #nvtile.fragment<warps = [1, 1]>
func.func @D1_a(%a: index, %s: !nvtile.shared<1 x 16 x 16 x bf16>, %i: index) {
  // expected-error @below {{(D1) expected agreeing shapes}}
  %t = nvtile.dot %a, %s[%i] : index, !nvtile.shared<1 x 16 x 16 x bf16> -> tensor<16x16xf32, #rows>
  return
}

// -----

#rows = #nvtile.fragment<warps = [1, 1]>
func.func @D1_stage(%a: tensor<16x16xbf16, #rows>, %s: !nvtile.shared<1 x 16 x 16 x bf16>, %i: index) {
  // expected-error @below {{(D1) expected a stage for an a in shared memory, and only there}}
  %t = nvtile.dot %a[%i], %s[%i] : tensor<16x16xbf16, #rows>, !nvtile.shared<1 x 16 x 16 x bf16> -> tensor<16x16xf32, #rows>
  return
}

// -----

#rows = #nvtile.fragment<warps = [1, 1]>
func.func @D1_no_stage(%s: !nvtile.shared<1 x 16 x 16 x bf16>, %i: index) {
  // expected-error @below {{(D1) expected a stage for an a in shared memory, and only there}}
  %t = nvtile.dot %s, %s[%i] : !nvtile.shared<1 x 16 x 16 x bf16>, !nvtile.shared<1 x 16 x 16 x bf16> -> tensor<16x16xf32, #rows>
  return
}

// -----

#rows = #nvtile.fragment<warps = [1, 1]>
func.func @D2_init(%a: tensor<16x16xbf16, #rows>, %s: !nvtile.shared<1 x 16 x 16 x bf16>, %i: index, %x: tensor<16x16xf32>) {
  // expected-error @below {{(D2) expected init of type 'tensor<16x16xf32, #nvtile.fragment<warps = [1, 1]>>', got 'tensor<16x16xf32>'}}
  %t = nvtile.dot %a, %s[%i] init(%x : tensor<16x16xf32>) : tensor<16x16xbf16, #rows>, !nvtile.shared<1 x 16 x 16 x bf16> -> tensor<16x16xf32, #rows>
  return
}

// -----

#rows = #nvtile.fragment<warps = [1, 1]>
func.func @D2_finite(%a: tensor<16x16xbf16, #rows>, %s: !nvtile.shared<1 x 16 x 16 x bf16>, %i: index, %ok: i1) {
  // expected-error @below {{(D2) expected keep and finite together, got one of them}}
  %t = nvtile.dot %a, %s[%i] finite(%ok) : tensor<16x16xbf16, #rows>, !nvtile.shared<1 x 16 x 16 x bf16> -> tensor<16x16xf32, #rows>
  return
}

// -----

#rows = #nvtile.fragment<warps = [1, 1]>
func.func @D2_keep(%a: tensor<16x16xbf16, #rows>, %s: !nvtile.shared<1 x 16 x 16 x bf16>, %i: index, %ok: i1,
                   %keep: tensor<16x32xi1, #rows>) {
  // expected-error @below {{(D2) expected keep of i1 in the shape of a, got 'tensor<16x32xi1, #nvtile.fragment<warps = [1, 1]>>'}}
  %t = nvtile.dot %a, %s[%i] keep(%keep : tensor<16x32xi1, #rows>) finite(%ok) : tensor<16x16xbf16, #rows>, !nvtile.shared<1 x 16 x 16 x bf16> -> tensor<16x16xf32, #rows>
  return
}

// -----

func.func @Q1_warps(%m: tensor<64xf32, #nvtile.fragment<warps = [4, 1]>>, %s: !nvtile.shared<1 x 16 x 4 x f32>) {
  // expected-error @below {{(Q1) expected fragments of f32, and of the result the rows and the warps along them of a band}}
  %t = nvtile.fold sum %m through %s : tensor<64xf32, #nvtile.fragment<warps = [4, 1]>>, !nvtile.shared<1 x 16 x 4 x f32> -> tensor<16xf32, #nvtile.fragment<warps = [2, 1]>>
  return
}

// -----

func.func @Q2_memory(%m: tensor<64xf32, #nvtile.fragment<warps = [4, 1]>>, %s: !nvtile.shared<1 x 16 x 2 x f32>) {
  // expected-error @below {{(Q2) expected memory of type '!nvtile.shared<1 x 16 x 4 x f32>', got '!nvtile.shared<1 x 16 x 2 x f32>'}}
  %t = nvtile.fold sum %m through %s : tensor<64xf32, #nvtile.fragment<warps = [4, 1]>>, !nvtile.shared<1 x 16 x 2 x f32> -> tensor<16xf32, #nvtile.fragment<warps = [1, 1]>>
  return
}

// -----

func.func @D3_bands(%q: !nvtile.shared<1 x 16 x 64 x bf16>, %k: !nvtile.shared<2 x 64 x 64 x bf16>, %i: index) {
  // expected-error @below {{(D3) expected bands that divide the rows of b and of the result, got 3}}
  %s = nvtile.dot %q[%i], %k[%i] {bands = 3 : i64, transpose_b} : !nvtile.shared<1 x 16 x 64 x bf16>, !nvtile.shared<2 x 64 x 64 x bf16> -> tensor<48x16xf32, #nvtile.fragment<warps = [3, 1]>>
  return
}
