// RUN: flash-opt %s --flash-set-schedule | FileCheck %s

module attributes {flash.target = #flash.target<"x86-64-v4">} {
  // Without a schedule the target's table says: the micro-tile fills the registers of the target.
  // CHECK-LABEL: func.func @from_table
  // CHECK:         flash.attention
  // CHECK-SAME:    schedule = #flash.schedule<tile = [{{[0-9]+}}, 64], micro = [6, 64], strategy = online>
  func.func @from_table(%q: tensor<?x?x2x32xf32>) -> tensor<?x?x2x32xf32> {
    %o = flash.attention %q, %q, %q {scale = 1.0 : f32}
      : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32>
    return %o : tensor<?x?x2x32xf32>
  }

  // A larger head takes fewer rows, so that the tiles still fit into the second-level cache.
  // CHECK-LABEL: func.func @large_head
  // CHECK:         flash.attention
  // CHECK-SAME:    schedule = #flash.schedule<tile = [{{[0-9]+}}, 64], micro = [6, 64], strategy = online>
  func.func @large_head(%q: tensor<?x?x2x576xf32>) -> tensor<?x?x2x576xf32> {
    %o = flash.attention %q, %q, %q {scale = 1.0 : f32}
      : tensor<?x?x2x576xf32>, tensor<?x?x2x576xf32>, tensor<?x?x2x576xf32> -> tensor<?x?x2x576xf32>
    return %o : tensor<?x?x2x576xf32>
  }

  // A given one stays.
  // CHECK-LABEL: func.func @given
  // CHECK:         schedule = #flash.schedule<tile = [4, 32], micro = [2, 16], strategy = standard>
  func.func @given(%q: tensor<?x?x2x32xf32>) -> tensor<?x?x2x32xf32> {
    %o = flash.attention %q, %q, %q
      {scale = 1.0 : f32, schedule = #flash.schedule<tile = [4, 32], micro = [2, 16], strategy = standard>}
      : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32>
    return %o : tensor<?x?x2x32xf32>
  }
}
