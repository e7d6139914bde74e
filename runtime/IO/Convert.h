//===- Convert.h - element type conversion of host arrays -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// One rounding to nearest even for every float result, whatever the input;
// integer results truncate toward zero and saturate.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_IO_CONVERT_H
#define FLASHC_RUNTIME_IO_CONVERT_H

#include "runtime/Support/HostArray.h"

namespace flashc {

/// `array` with every element converted to `dtype`. Floats round to nearest even (once, also
/// from f64 or i64 to f16 or bf16), overflow to infinity and keep NaN; to integers, floats
/// truncate and everything saturates (NaN gives 0); to bool, every value but 0 is true.
HostArray convert(const HostArray &array, DType dtype);

/// Makes every non-zero byte 1, as readers must for bool bytes from files.
void normalizeBool(std::span<std::byte> bytes);

} // namespace flashc

#endif // FLASHC_RUNTIME_IO_CONVERT_H
