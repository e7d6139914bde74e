//===- NVTileOps.td - the nvtile dialect --------------------*- tablegen -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Kernels on tiles for NVIDIA GPUs: which thread holds what stands in the types, shared memory and
// asynchronous copies are explicit. Everything elementwise stays arith and math on tiles.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_DIALECTS_NVTILE_IR_NVTILEOPS_TD
#define FLASHC_DIALECTS_NVTILE_IR_NVTILEOPS_TD

include "dialects/Tile/IR/TileEnums.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def NVTileDialect : Dialect {
  let name = "nvtile";
  let cppNamespace = "::flashc::nvtile";
  let summary = "Kernels on tiles, laid out over the threads of an NVIDIA GPU.";
  let description = [{
    A kernel is a function with the attribute `nvtile.threads`, run by that many threads per block. Register
    tiles are tensors with a `#nvtile.fragment` encoding; the ops of `tile`, `arith` and `math` work on them as they
    are. Tiles in shared memory are values of type `!nvtile.shared`, filled by copies that complete in groups.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

def NVTile_FragmentAttr : AttrDef<NVTileDialect, "Fragment"> {
  let mnemonic = "fragment";
  let summary = "How a register tile is spread over warps and lanes";
  let description = [{
    The layout of the accumulators of `mma.sync.m16n8` (PTX ISA, matrix fragments). `warps = [m, n]`: warp w holds the
    rows of part w mod m, and the columns of part (w / m) mod n; where m n is less than the warps of the block,
    the rest holds copies. A part's rows are cut into blocks of 16, its columns into blocks of 8; in a block, lane
    l holds rows l / 4 and l / 4 + 8, and of each the columns 2 (l mod 4) and 2 (l mod 4) + 1. Where a part has an odd
    number of 8 rows, as products without tensor cores allow, its blocks are of 8 rows, of which a lane holds row l / 4. A tile of rank 1
    is spread as the rows are, with copies along the columns. Columns are rounded up to 16 for each part.

    - (F1) warps are two positive numbers.

    Example: `tensor<128x64xf32, #nvtile.fragment<warps = [4, 1]>>`
  }];
  let parameters = (ins "int64_t":$rowWarps, "int64_t":$columnWarps);
  let assemblyFormat = "`<` `warps` `=` `[` $rowWarps `,` $columnWarps `]` `>`";
  let genVerifyDecl = 1;
}

def NVTile_OperandAttr : AttrDef<NVTileDialect, "Operand"> {
  let mnemonic = "operand";
  let summary = "A register tile in the layout of the left operand of mma.sync";
  let description = [{
    The `a` fragments of `mma.sync.m16n8k16` (m16n8k8 on sm_75); rows are spread over `rowWarps` as by
    `#nvtile.fragment`.

    - (F1) as for fragments.

    Example: `tensor<128x64xbf16, #nvtile.operand<warps = 4>>`
  }];
  let parameters = (ins "int64_t":$rowWarps);
  let assemblyFormat = "`<` `warps` `=` $rowWarps `>`";
  let genVerifyDecl = 1;
}

def NVTile_LinesAttr : AttrDef<NVTileDialect, "Lines"> {
  let mnemonic = "lines";
  let summary = "A register tile whose rows lie along the lanes of a warp";
  let description = [{
    What kernels without products use: warp w holds the rows of part w mod `warps`; where there are more warps in the
    block, the rest holds copies. Of each row, lane l holds columns l, l + 32, and so on. A tile of rank 1 is spread as
    the rows are, with copies in all lanes.

    - (F1) as for fragments.

    Example: `tensor<4x128xf32, #nvtile.lines<warps = 4>>`
  }];
  let parameters = (ins "int64_t":$rowWarps);
  let assemblyFormat = "`<` `warps` `=` $rowWarps `>`";
  let genVerifyDecl = 1;
}

def NVTile_SharedType : TypeDef<NVTileDialect, "Shared"> {
  let mnemonic = "shared";
  let summary = "Tiles in shared memory";
  let description = [{
    `stages` tiles of `rows` x `columns` elements. Rows are padded with zeros to a multiple of 16 columns; their 16-byte
    chunks are permuted (16-bit types with rows of a multiple of 128 bytes) or rows are skewed by one chunk, so
    that eight rows' chunks of one column lie in different banks.

    - (S1) stages, rows and columns are positive and at most 65536; elements are f16, bf16 or f32.

    Example: `!nvtile.shared<2 x 64 x 128 x bf16>`
  }];
  let parameters = (ins "int64_t":$stages, "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $stages `x` $rows `x` $columns `x` $elementType `>`";
  let extraClassDeclaration = [{
    /// Columns with their padding.
    int64_t getPaddedColumns() const;
    /// Whether the chunks of a row are permuted by the row's number.
    bool isSwizzled() const;
    int64_t getRowBytes() const;
    int64_t getStageBytes() const { return getRows() * getRowBytes(); }
    int64_t getBytes() const { return getStages() * getStageBytes(); }
  }];
  let genVerifyDecl = 1;
}

class NVTile_Op<string mnemonic, list<Trait> traits = []> : Op<NVTileDialect, mnemonic, traits>;

def NVTile_BlockIdOp : NVTile_Op<"block_id", [Pure]> {
  let summary = "The number of this block in the grid";
  let description = [{ Example: `%n = nvtile.block_id` }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def NVTile_AllocOp : NVTile_Op<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "Reserves shared memory for the whole kernel";
  let description = [{
    Where `over` is given, it is the memory of that buffer: what is written to one is lost to the other.

    - (A1) the memory below is an `nvtile.alloc`'s, and has at least as many bytes.

    Example: `%k = nvtile.alloc : !nvtile.shared<2 x 64 x 128 x bf16>`
  }];
  let arguments = (ins Optional<NVTile_SharedType>:$over);
  let results = (outs NVTile_SharedType:$result);
  let assemblyFormat = "attr-dict `:` type($result) (`over` $over^ `:` type($over))?";
  let hasVerifier = 1;
}

def NVTile_CopyOp : NVTile_Op<"copy", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Begins to copy a tile into a stage of shared memory";
  let description = [{
    The tile is that of `tile.load`, zeros outside of `valid` and rows through a page table included. The copy belongs to the group that the next
    `nvtile.commit` closes; until `nvtile.wait` has waited for that group, and a barrier has passed, the stage must
    not be read.
    Without asynchronous copies (sm_75) the tile is loaded to registers here and written at the next wait or barrier.

    - (P1) one offset per dimension of the source; two distinct dims of it, and two valid sizes.
    - (P2) source and stage have one element type.
    - (P3) a table comes with its row, and dims[0] is not dimension 0 then.

    Example: `nvtile.copy %k[%b, %j, %h, %c0] dims [1, 3] valid(%n, %c64) to %s[%stage] : memref<?x?x?x64xbf16>, !nvtile.shared<2 x 64 x 64 x bf16>`
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<Index>:$offsets,
                       Optional<MemRefRankOf<[I32, I64], [2]>>:$table, Optional<Index>:$table_row,
                       Variadic<Index>:$valid, DenseI64ArrayAttr:$dims,
                       NVTile_SharedType:$dest, Index:$stage);
  let assemblyFormat = [{
    $source `[` $offsets `]` (`through` $table^ `[` $table_row `]` `:` type($table))?
    `dims` $dims `valid` `(` $valid `)` `to` $dest `[` $stage `]` attr-dict `:`
    type($source) `,` type($dest)
  }];
  let hasVerifier = 1;
}

def NVTile_CommitOp : NVTile_Op<"commit", [MemoryEffects<[MemWrite]>]> {
  let summary = "Closes a group of copies";
  let description = [{ Example: `nvtile.commit` }];
  let assemblyFormat = "attr-dict";
}

def NVTile_WaitOp : NVTile_Op<"wait", [MemoryEffects<[MemWrite]>]> {
  let summary = "Waits until at most `pending` groups of copies are under way";
  let description = [{ Then all threads meet, so that they see each other's copies. Example: `nvtile.wait 1` }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def NVTile_BarrierOp : NVTile_Op<"barrier", [MemoryEffects<[MemWrite]>]> {
  let summary = "All threads of the block meet";
  let description = [{ Example: `nvtile.barrier` }];
  let assemblyFormat = "attr-dict";
}

def NVTile_LaunchDependentsOp : NVTile_Op<"launch_dependents", [MemoryEffects<[MemWrite]>]> {
  let summary = "The block has begun: once all have, blocks of the next launch may begin too";
  let description = [{
    Programmatic dependent launch: the next launch is under way already when this one ends.

    Example: `nvtile.launch_dependents`
  }];
  let assemblyFormat = "attr-dict";
}

def NVTile_WaitPrerequisitesOp : NVTile_Op<"wait_prerequisites", [MemoryEffects<[MemWrite]>]> {
  let summary = "Waits until the launch before has ended, and what it wrote can be read";
  let description = [{
    All blocks wait, before they read or write memory: what a later launch waits for is then done too.

    Example: `nvtile.wait_prerequisites`
  }];
  let assemblyFormat = "attr-dict";
}

def NVTile_ReadOp : NVTile_Op<"read", [MemoryEffects<[MemRead]>]> {
  let summary = "Reads a stage into registers, as the left operand of products";
  let description = [{
    - (R1) shapes and element types agree, and the result is an `#nvtile.operand`.

    Example: `%q = nvtile.read %s[%c0] : !nvtile.shared<1 x 128 x 64 x bf16> -> tensor<128x64xbf16, #nvtile.operand<warps = 4>>`
  }];
  let arguments = (ins NVTile_SharedType:$source, Index:$stage);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source `[` $stage `]` attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def NVTile_FoldOp : NVTile_Op<"fold", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Reduces the bands of a register tile through shared memory";
  let description = [{
    As `tile.fold`. All threads write what they hold of x to `through`, meet, and read what the result is made of; nobody
    may read what was in that memory before.

    - (Q1) x and the result are fragments of f32, and the warps along the result's rows, times the bands, those along the
      rows of x.
    - (Q2) through has one stage of f32: at rank 1 the rows of the result and a column for each band; at rank 2 the rows
      of x, and as many columns as the warps along the columns of either tile hold.

    Example: `%m = nvtile.fold maxnum %x through %s : tensor<64xf32, #nvtile.fragment<warps = [4, 1]>>, !nvtile.shared<1 x 16 x 4 x f32> -> tensor<16xf32, #nvtile.fragment<warps = [1, 1]>>`
  }];
  let arguments = (ins Tile_ReduceKind:$kind, AnyRankedTensor:$source, NVTile_SharedType:$through);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $kind $source `through` $through attr-dict `:` type($source) `,` type($through) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The memory that folding `source` to `result` takes, of types with fragments.
    static SharedType memoryFor(::mlir::RankedTensorType source, ::mlir::RankedTensorType result);
  }];
}

def NVTile_AllFiniteOp : NVTile_Op<"all_finite", [MemoryEffects<[MemRead]>]> {
  let summary = "Whether a stage holds neither an infinity nor a NaN";
  let description = [{
    The same answer in all threads of the block, which meet here.

    Example: `%ok = nvtile.all_finite %v[%stage] : !nvtile.shared<2 x 64 x 64 x bf16>`
  }];
  let arguments = (ins NVTile_SharedType:$source, Index:$stage);
  let results = (outs I1:$result);
  let assemblyFormat = "$source `[` $stage `]` attr-dict `:` type($source)";
}

def NVTile_DotOp : NVTile_Op<"dot", [AttrSizedOperandSegments, MemoryEffects<[MemRead]>]> {
  let summary = "Matrix product of a register or shared tile and a shared tile";
  let description = [{
    As `tile.dot`, `idle_rows` and `bands` included, with b in shared memory, a in registers or there too. With `finite` false, b may hold infinities
    and NaNs at k where keep is false; with `finite` true, or without keep, it does not, or they count.

    - (D1) shapes agree, except that with `transpose_b` the result may have fewer columns than b has rows: the first of
      them; a and b have one element type, the result is f32 in an `#nvtile.fragment`.
    - (D2) init has the result's type; keep has a's shape, of i1, and comes with finite.
    - (D3) bands divide the rows of b and of the result.

    Example: `%s = nvtile.dot %q, %k[%stage] {transpose_b} : tensor<128x64xbf16, #nvtile.operand<warps = 4>>, !nvtile.shared<2 x 64 x 64 x bf16> -> tensor<128x64xf32, #nvtile.fragment<warps = [4, 1]>>`
  }];
  let arguments = (ins AnyType:$a, NVTile_SharedType:$b, Index:$stage, Optional<Index>:$a_stage,
                       Optional<AnyRankedTensor>:$init, Optional<AnyRankedTensor>:$keep, Optional<I1>:$finite,
                       UnitAttr:$transpose_b, UnitAttr:$idle_rows, DefaultValuedOptionalAttr<I64Attr, "1">:$bands);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $a (`[` $a_stage^ `]`)? `,` $b `[` $stage `]` (`init` `(` $init^ `:` type($init) `)`)?
    (`keep` `(` $keep^ `:` type($keep) `)`)? (`finite` `(` $finite^ `)`)? attr-dict `:`
    type($a) `,` type($b) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif
