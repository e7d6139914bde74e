//===- HostKernels.cpp - the kernels of templates/, for the host -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Compiled for every ELEMENT, and once more with TEST_ORACLE for the standard
// attention in double.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/CUDA/HostKernels.h"
#include "test/Unit/CUDA/HostShim.h"

#ifdef TEST_ORACLE
#define RESULT f64
#define COMPUTE double
#define SUFFIX FLASHC_JOIN(ELEMENT, oracle)
#include "templates/StandardAttention.cu"
#else
#define RESULT ELEMENT
#define COMPUTE float
#define ORACLE f64
#define SUFFIX ELEMENT
#include "templates/BlockLists.cu"
#include "templates/Compare.cu"
#include "templates/Fill.cu"
#include "templates/KVAppend.cu"
#include "templates/SplitCombine.cu"
#include "templates/StandardAttention.cu"
#endif
