// What must hold of elements and of their rows is taken together once per element and once per row.
// RUN: flash-opt %s --nvtile-to-threads --cse | FileCheck %s

#rows = #nvtile.fragment<warps = [1, 1]>
#schedule = #flash.schedule<tile = [16, 16], micro = [16, 16], strategy = online>

module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @grid(%a: memref<?x16xf32>, %o: memref<1xf32>, %ws: memref<?xi8>) -> index attributes {flash.grid = 0 : i64} {
    %c1 = arith.constant 1 : index
    return %c1 : index
  }

  // 8 elements and 2 rows: 10 conditions, and so 9 times both.
  // CHECK-LABEL: func.func @all(
  // CHECK-DAG:     arith.cmpf olt, {{.*}} : f32
  // CHECK-COUNT-9: arith.andi {{.*}} : i1
  // CHECK-NOT:     arith.andi {{.*}} : i1
  // CHECK:         llvm.call_intrinsic "llvm.nvvm.barrier.cta.red.and.aligned.all"
  func.func @all(%a: memref<?x16xf32>, %o: memref<1xf32>, %ws: memref<?xi8>)
      attributes {flash.kernel = 0 : i64, nvtile.threads = 32 : i64, flash.schedule = #schedule} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %one = arith.constant dense<1.0> : tensor<16x16xf32, #rows>
    %row = tile.coords %c0 dim 0 : tensor<16xindex, #rows>
    %column = tile.coords %c0 dim 1 : tensor<16x16xindex, #rows>
    %wide = arith.index_cast %column : tensor<16x16xindex, #rows> to tensor<16x16xi32, #rows>
    %x = arith.sitofp %wide : tensor<16x16xi32, #rows> to tensor<16x16xf32, #rows>
    %narrow = arith.index_cast %row : tensor<16xindex, #rows> to tensor<16xi32, #rows>
    %y = arith.sitofp %narrow : tensor<16xi32, #rows> to tensor<16xf32, #rows>
    %two = arith.constant dense<2.0> : tensor<16xf32, #rows>
    %isSmall = arith.cmpf olt, %x, %one : tensor<16x16xf32, #rows>
    %isRow = arith.cmpf olt, %y, %two : tensor<16xf32, #rows>
    %ofRow = tile.broadcast %isRow : tensor<16xi1, #rows> -> tensor<16x16xi1, #rows>
    %both = arith.andi %isSmall, %ofRow : tensor<16x16xi1, #rows>
    %all = tile.all %both : tensor<16x16xi1, #rows>
    scf.if %all {
      tile.store %y, %o[%c0] dims [0] valid(%c16) : tensor<16xf32, #rows>, memref<1xf32>
    }
    return
  }
}
