module attributes {flash.target = #flash.target<"x86-64-v3">} {
  func.func @attention(%arg0: tensor<?x?x?x8xbf16> {flash.name = "q"}, %arg1: tensor<?x?x?x8xbf16> {flash.name = "k"}, %arg2: tensor<?x?x?x8xbf16> {flash.name = "v"}, %arg3: tensor<?xf32> {flash.name = "sinks"}, %arg4: tensor<?xf32> {flash.name = "slope"}) -> (tensor<?x?x?x8xbf16> {flash.name = "o"}, tensor<?x?x?xf32> {flash.name = "lse"}) {
    %o, %lse = flash.attention %arg0, %arg1, %arg2 sinks(%arg3 : tensor<?xf32>) captures(%arg4 : tensor<?xf32>)
      score (%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %slope: tensor<?xf32>) {
      %0 = flash.read %slope[%h] : tensor<?xf32> -> f32
      %1 = arith.mulf %s, %0 : f32
      flash.yield %1 : f32
    }
      mask (%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %slope: tensor<?xf32>) {
      %0 = arith.index_cast %sk : index to i64
      %1 = arith.index_cast %sq : index to i64
      %2 = arith.index_cast %i : index to i64
      %3 = arith.index_cast %j : index to i64
      %4 = arith.subi %0, %1 : i64
      %5 = arith.addi %2, %4 : i64
      %6 = arith.cmpi sle, %3, %5 : i64
      %c5_i64 = arith.constant 5 : i64
      %7 = arith.subi %5, %c5_i64 : i64
      %8 = arith.cmpi sge, %3, %7 : i64
      %9 = arith.andi %6, %8 : i1
      flash.yield %9 : i1
    }
      {scale = 0.353553385 : f32, schedule = #flash.schedule<tile = [384, 64], micro = [6, 16], strategy = online>, lse} : tensor<?x?x?x8xbf16>, tensor<?x?x?x8xbf16>, tensor<?x?x?x8xbf16> -> tensor<?x?x?x8xbf16>, tensor<?x?x?xf32>
    return %o, %lse : tensor<?x?x?x8xbf16>, tensor<?x?x?xf32>
  }
}
