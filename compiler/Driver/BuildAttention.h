//===- BuildAttention.h - from a description to the flash stage -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The compiler's front end: every feature of an AttentionDesc becomes an operand or part of a
// region of one flash.attention, and from there on no pass knows features.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_COMPILER_DRIVER_BUILDATTENTION_H
#define FLASHC_COMPILER_DRIVER_BUILDATTENTION_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/API/AttentionDesc.h"

namespace flashc {

/// A module for `target` with one function, named `desc.name`, that holds one flash.attention.
///
/// The arguments are q, k, v, then, as far as the description asks for them, sinks, cu_seqlens_q
/// and cu_seqlens_k, seqused_k, page_table, and the captures: alibi, bias, the user's. The results are o, lse,
/// row_max. All sizes but the head dims are dynamic. The attribute `flash.name` of arguments and
/// results holds their names. Bool and u8 arrays are tensors of i8. The op has no schedule yet.
///
/// Loads the dialects that it needs. Throws Error where `desc.validate()` would, and for an unknown
/// target.
mlir::OwningOpRef<mlir::ModuleOp> buildAttention(mlir::MLIRContext &context,
                                                 const AttentionDesc &desc, llvm::StringRef target);

} // namespace flashc

#endif // FLASHC_COMPILER_DRIVER_BUILDATTENTION_H
