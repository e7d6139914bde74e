// RUN: flash-opt %s -verify-diagnostics -split-input-file

// (T1)
// expected-error @below {{(T1) expected a known target, got 'pdp-11'; `flashc targets` lists them}}
module attributes {flash.target = #flash.target<"pdp-11">} {}

// -----

// (H1) two sizes
// expected-error @below {{(H1) expected two positive sizes for tile, got [64]}}
func.func private @f() attributes {s = #flash.schedule<tile = [64], micro = [6, 16]>}

// -----

// (H1) positive sizes
// expected-error @below {{(H1) expected two positive sizes for micro, got [0, 16]}}
func.func private @f() attributes {s = #flash.schedule<tile = [64, 64], micro = [0, 16]>}

// -----

// (H1) both are there
// expected-error @below {{(H1) expected two positive sizes for micro, got []}}
func.func private @f() attributes {s = #flash.schedule<tile = [64, 64]>}

// -----

// (H2)
// expected-error @below {{(H2) expected tile rows that are a multiple of the 6 micro rows, got 64}}
func.func private @f() attributes {s = #flash.schedule<tile = [64, 64], micro = [6, 16]>}

// -----

// expected-error @below {{expected tile, micro, strategy, rows, split, stages, across, bands, blocks, registers, queries, values or reference, got 'warps'}}
func.func private @f() attributes {s = #flash.schedule<warps = 2>}

// -----

// expected-error @below {{expected online or standard, got 'magic'}}
func.func private @f() attributes {s = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = magic>}

// -----

// (H3)
// expected-error @below {{(H3) expected a split that is 0 or a positive multiple of the 8 }}
func.func private @f() attributes {s = #flash.schedule<tile = [4, 8], micro = [4, 8], split = 12>}

// -----

// (H4) split
// expected-error @below {{(H4) expected rows of queries, no split and an exact reference with the standard strategy}}
func.func private @f() attributes {s = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = standard, split = 16>}

// -----

// (H4) rows
// expected-error @below {{(H4) expected rows of queries, no split and an exact reference with the standard strategy}}
func.func private @f() attributes {s = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = standard, rows = heads>}

// -----

// (H6)
// expected-error @below {{(H6) expected one stage with values instead of keys, got 2}}
func.func private @f() attributes {s = #flash.schedule<tile = [4, 8], micro = [4, 8], stages = 2, values = instead>}

// -----

// (H4) reference
// expected-error @below {{(H4) expected rows of queries, no split and an exact reference with the standard strategy}}
func.func private @f() attributes {s = #flash.schedule<tile = [4, 8], micro = [4, 8], strategy = standard, reference = optimistic>}

// -----

// (H5)
// expected-error @below {{(H5) expected stages, blocks and registers of at least 0 and across of at least 1, got -1, 0, 0 and 1}}
func.func private @f() attributes {s = #flash.schedule<tile = [4, 8], micro = [4, 8], stages = -1>}

// -----

// (H5) blocks
// expected-error @below {{(H5) expected stages, blocks and registers of at least 0 and across of at least 1, got 2, -3, 0 and 1}}
func.func private @f() attributes {s = #flash.schedule<tile = [4, 8], micro = [4, 8], stages = 2, blocks = -3>}

// -----

// (H5) registers
// expected-error @below {{(H5) expected stages, blocks and registers of at least 0 and across of at least 1, got 0, 0, -1 and 1}}
func.func private @f() attributes {s = #flash.schedule<tile = [4, 8], micro = [4, 8], registers = -1>}

// -----

// (H5) across
// expected-error @below {{(H5) expected stages, blocks and registers of at least 0 and across of at least 1, got 0, 0, 0 and 0}}
func.func private @f() attributes {s = #flash.schedule<tile = [4, 8], micro = [4, 8], across = 0>}

// -----

// expected-error @below {{(H7) expected a positive number of bands that divides the 8 tile columns, got 3}}
func.func private @f() attributes {s = #flash.schedule<tile = [4, 8], micro = [4, 8], bands = 3>}

// -----

// expected-error @below {{(H7) expected a positive number of bands that divides the 8 tile columns, got 0}}
func.func private @f() attributes {s = #flash.schedule<tile = [4, 8], micro = [4, 8], bands = 0>}

// -----

// expected-error @below {{(H7) expected the online strategy and an exact reference with 2 bands}}
func.func private @f() attributes {s = #flash.schedule<tile = [4, 8], micro = [4, 8], bands = 2, reference = optimistic>}

// -----

// expected-error @below {{expected shared or registers, got 'cache'}}
func.func private @f() attributes {s = #flash.schedule<tile = [4, 8], micro = [4, 8], queries = cache>}

// -----

// expected-error @below {{expected exact or optimistic, got 'hopeful'}}
func.func private @f() attributes {s = #flash.schedule<tile = [4, 8], micro = [4, 8], reference = hopeful>}
