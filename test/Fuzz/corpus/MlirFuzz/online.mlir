module attributes {flash.target = #flash.target<"x86-64-v3">} {
  func.func @attention(%arg0: tensor<?x?x?x8xf32> {flash.name = "q"}, %arg1: tensor<?x?x?x8xf32> {flash.name = "k"}, %arg2: tensor<?x?x?x8xf32> {flash.name = "v"}, %arg3: tensor<?xi32> {flash.name = "cu_seqlens_q"}, %arg4: tensor<?xi32> {flash.name = "cu_seqlens_k"}, %arg5: tensor<?xi64> {flash.name = "seqused_k"}) -> (tensor<?x?x?x8xf32> {flash.name = "o"}) {
    %m, %l, %acc = flash.online_attention %arg0, %arg1, %arg2 cu_seqlens_q(%arg3 : tensor<?xi32>) cu_seqlens_k(%arg4 : tensor<?xi32>) seqused_k(%arg5 : tensor<?xi64>) {base = 0 : i32, scale = 0.353553385 : f32, schedule = #flash.schedule<tile = [384, 64], micro = [6, 16], strategy = online>} : tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32> -> tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?x8xf32>
    %o, %lse = flash.finalize %m, %l, %acc : tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<?x?x?x8xf32> -> tensor<?x?x?x8xf32>, tensor<?x?x?xf32>
    return %o : tensor<?x?x?x8xf32>
  }
}
