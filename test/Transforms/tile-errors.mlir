// RUN: flash-opt %s --flash-tile -verify-diagnostics -split-input-file

func.func @no_schedule(%q: tensor<?x?x2x32xf32>) -> tensor<?x2x?xf32> {
  // expected-error @below {{expected a schedule; run flash-set-schedule first}}
  %m, %l, %acc = flash.online_attention %q, %q, %q {scale = 0.5 : f32}
    : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>
    -> tensor<?x2x?xf32>, tensor<?x2x?xf32>, tensor<?x2x?x32xf32>
  return %m : tensor<?x2x?xf32>
}

// -----

func.func @no_schedule_standard(%q: tensor<?x?x2x32xf32>) -> tensor<?x?x2x32xf32> {
  // expected-error @below {{expected a schedule; run flash-set-schedule first}}
  %o = flash.attention %q, %q, %q {scale = 0.5 : f32}
    : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32>
  return %o : tensor<?x?x2x32xf32>
}

// -----

#schedule = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = standard>
// expected-error @below {{expected one attention op per function, got 2}}
func.func @two(%q: tensor<?x?x2x32xf32>) -> tensor<?x?x2x32xf32> {
  %o = flash.attention %q, %q, %q {scale = 0.5 : f32, schedule = #schedule}
    : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32>
  %o2 = flash.attention %o, %q, %q {scale = 0.5 : f32, schedule = #schedule}
    : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32>
  return %o2 : tensor<?x?x2x32xf32>
}

// -----

#schedule = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = standard>
func.func @computed_input(%q: tensor<?x?x2x32xf32>) -> tensor<?x?x2x32xf32> {
  %sinks = arith.constant dense<0.0> : tensor<2xf32>
  // expected-error @below {{expected inputs that are arguments of the function, got a result of arith.constant}}
  %o = flash.attention %q, %q, %q sinks(%sinks : tensor<2xf32>) {scale = 0.5 : f32, schedule = #schedule}
    : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32>
  return %o : tensor<?x?x2x32xf32>
}

// -----

#schedule = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = standard>
// expected-error @below {{expected results of the attention op, each once}}
func.func @twice(%q: tensor<?x?x2x32xf32>) -> (tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>) {
  %o = flash.attention %q, %q, %q {scale = 0.5 : f32, schedule = #schedule}
    : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32>
  return %o, %o : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>
}

// -----

#schedule = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = standard>
// expected-error @below {{expected the attention op's o among the results}}
func.func @no_output(%q: tensor<?x?x2x32xf32>) {
  %o = flash.attention %q, %q, %q {scale = 0.5 : f32, schedule = #schedule}
    : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32>
  return
}

// -----

#schedule = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = online>
// expected-error @below {{expected results of flash ops only, got another definition of result 1}}
func.func @argument_returned(%q: tensor<?x?x2x32xf32>) -> (tensor<?x2x?xf32>, tensor<?x?x2x32xf32>) {
  %m, %l, %acc = flash.online_attention %q, %q, %q {scale = 0.5 : f32, schedule = #schedule}
    : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>
    -> tensor<?x2x?xf32>, tensor<?x2x?xf32>, tensor<?x2x?x32xf32>
  return %m, %q : tensor<?x2x?xf32>, tensor<?x?x2x32xf32>
}

// -----

#schedule = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = standard>
// expected-error @below {{expected one block that holds the attention op, got control flow}}
func.func @control_flow(%q: tensor<?x?x2x32xf32>) -> tensor<?x?x2x32xf32> {
  cf.br ^next
^next:
  %o = flash.attention %q, %q, %q {scale = 0.5 : f32, schedule = #schedule}
    : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32>
  return %o : tensor<?x?x2x32xf32>
}

// -----

#schedule = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = standard>
// expected-error @below {{expected arguments that are ranked tensors, got 'f32'}}
func.func @scalar_argument(%q: tensor<?x?x2x32xf32>, %x: f32) -> tensor<?x?x2x32xf32> {
  %o = flash.attention %q, %q, %q {scale = 0.5 : f32, schedule = #schedule}
    : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32>
  return %o : tensor<?x?x2x32xf32>
}

// -----

#schedule = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = standard>
func.func @standard_pages(%q: tensor<?x?x2x32xf32>, %used: tensor<?xi32>, %table: tensor<?x?xi32>)
    -> tensor<?x?x2x32xf32> {
  // expected-error @below {{expected the online strategy with page_table, got standard}}
  %o = flash.attention %q, %q, %q seqused_k(%used : tensor<?xi32>) page_table(%table : tensor<?x?xi32>)
    {scale = 0.5 : f32, schedule = #schedule}
    : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32>
  return %o : tensor<?x?x2x32xf32>
}

// -----

#schedule = #flash.schedule<tile = [16, 16], micro = [16, 16], strategy = standard>
module attributes {flash.target = #flash.target<"sm_80">} {
  func.func @standard_packed(%q: tensor<1x?x2x32xf32>, %lengths: tensor<?xi32>) -> tensor<1x?x2x32xf32> {
    // expected-error @below {{expected the online strategy for packed sequences on GPUs, got standard; leave the strategy out}}
    %o = flash.attention %q, %q, %q cu_seqlens_q(%lengths : tensor<?xi32>) cu_seqlens_k(%lengths : tensor<?xi32>) {scale = 0.5 : f32, schedule = #schedule}
      : tensor<1x?x2x32xf32>, tensor<1x?x2x32xf32>, tensor<1x?x2x32xf32> -> tensor<1x?x2x32xf32>
    return %o : tensor<1x?x2x32xf32>
  }
}
