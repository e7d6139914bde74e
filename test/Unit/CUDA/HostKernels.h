//===- HostKernels.h - the kernels of templates/, for the host -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// HostKernels.cpp defines them, compiled once per element type.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TEST_UNIT_CUDA_HOSTKERNELS_H
#define FLASHC_TEST_UNIT_CUDA_HOSTKERNELS_H

#include "runtime/Support/DType.h"
#include "templates/Arguments.h"

#define FLASHC_HOST_KERNELS(E)                                                                     \
  extern "C" {                                                                                     \
  void flashc_standard_scores_##E(flashc::templates::StandardAttention);                           \
  void flashc_standard_softmax_##E(flashc::templates::StandardAttention);                          \
  void flashc_standard_output_##E(flashc::templates::StandardAttention);                           \
  void flashc_standard_scores_##E##_oracle(flashc::templates::StandardAttention);                  \
  void flashc_standard_softmax_##E##_oracle(flashc::templates::StandardAttention);                 \
  void flashc_standard_output_##E##_oracle(flashc::templates::StandardAttention);                  \
  void flashc_split_combine_##E(flashc::templates::SplitCombine);                                  \
  void flashc_block_lists_##E(flashc::templates::BlockLists);                                      \
  void flashc_fill_normal_##E(flashc::templates::Fill);                                            \
  void flashc_fill_uniform_##E(flashc::templates::Fill);                                           \
  void flashc_fill_bytes_##E(flashc::templates::FillBytes);                                        \
  void flashc_compare_##E(flashc::templates::Compare);                                             \
  void flashc_compare_finish_##E(flashc::templates::Compare);                                      \
  void flashc_kv_append_##E(flashc::templates::KVAppend);                                          \
  void flashc_rotate_##E(flashc::templates::Rotate);                                               \
  }
FLASHC_HOST_KERNELS(f16)
FLASHC_HOST_KERNELS(bf16)
FLASHC_HOST_KERNELS(f32)
#undef FLASHC_HOST_KERNELS

/// The kernel `name` for the element type `dtype`.
#define FLASHC_PICK(name, suffix, dtype)                                                           \
  ((dtype) == ::flashc::DType::F16    ? flashc_##name##_f16##suffix                                \
   : (dtype) == ::flashc::DType::BF16 ? flashc_##name##_bf16##suffix                               \
                                      : flashc_##name##_f32##suffix)

#endif // FLASHC_TEST_UNIT_CUDA_HOSTKERNELS_H
