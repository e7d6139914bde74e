//===- main.cpp - entry of the flashc tool --------------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "compiler/Driver/CompilerABI.h"
#include "tools/flashc/Tool.h"

#include <vector>

int main(int argc, char **argv) {
  flashc::registerLinkedCompiler();
  const std::vector<std::string> args(argv + (argc > 0), argv + argc);
  return flashc::tool::runTool(args, flashc_compiler_version());
}
