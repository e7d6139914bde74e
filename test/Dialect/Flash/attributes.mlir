// RUN: flash-opt %s | FileCheck %s

// CHECK: module attributes {flash.target = #flash.target<"x86-64-v4">}
module attributes {flash.target = #flash.target<"x86-64-v4">} {
  // Fields may come in any order; they print in one.
  // CHECK:      func.func private @schedules() attributes {
  // CHECK-SAME: decoding = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = online, rows = heads, split = 64>
  // CHECK-SAME: full = #flash.schedule<tile = [192, 64], micro = [6, 64], strategy = online>
  // CHECK-SAME: gpu = #flash.schedule<tile = [128, 64], micro = [32, 32], strategy = online, stages = 2, across = 2, blocks = 1, registers = 250, queries = registers, values = late, reference = optimistic>
  // What is as by default is not printed.
  // CHECK-SAME: plain = #flash.schedule<tile = [128, 64], micro = [32, 32], strategy = online, stages = 1>
  // CHECK-SAME: reordered = #flash.schedule<tile = [12, 16], micro = [3, 16], strategy = standard>
  // The strategy is online where it is not said.
  // CHECK-SAME: short = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = online>
  func.func private @schedules() attributes {
    decoding = #flash.schedule<tile = [4, 8], micro = [4, 8], rows = heads, split = 64>,
    full = #flash.schedule<tile = [192, 64], micro = [6, 64], strategy = online>,
    gpu = #flash.schedule<tile = [128, 64], micro = [32, 32], reference = optimistic, values = late, queries = registers, blocks = 1, registers = 250, across = 2, stages = 2>,
    plain = #flash.schedule<tile = [128, 64], micro = [32, 32], stages = 1, across = 1, blocks = 0, registers = 0, queries = shared, values = ahead, reference = exact>,
    reordered = #flash.schedule<strategy = standard, micro = [3, 16], tile = [12, 16]>,
    short = #flash.schedule<tile = [4, 8], micro = [4, 8]>
  }
}
