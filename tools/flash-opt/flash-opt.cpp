//===- flash-opt.cpp - the pass driver ------------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Runs single passes and named pipelines on .mlir files: `flash-opt --flash-to-online in.mlir`.
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipelines/Pipelines.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  flashc::registerDialects(registry);
  flashc::registerPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "flashc's pass driver\n", registry));
}
