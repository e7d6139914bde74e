//===- PTXPartsTest.cpp - PTX divided and joined ----------------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CUDA/PTXParts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace flashc;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

namespace {

const std::string header = "// info\n//\n\n.version 7.8\n.target sm_80\n.address_size 64\n\n";
const std::string shared = ".extern .shared .align 1024 .b8 bytes[];\n";
const std::string declaration = ".visible .func exact\n(\n\t.param .b64 exact_param_0\n)\n;\n";
const std::string kernel = ".visible .entry phase0(\n\t.param .u64 phase0_param_0\n)\n.maxntid "
                           "128\n.minnctapersm 3\n{\n\t{ // callseq\n\tcall.uni exact, (p);\n\t}\n"
                           "$L__BB0_1:\n\tret;\n\n}\n";
const std::string function =
    ".visible .func exact(\n\t.param .b64 exact_param_0\n)\n{\n\t// { ; }\n\tret;\n\n}\n";
const std::string whole = header + declaration + shared + "\n\t// .globl\tphase0\n" + kernel +
                          "\t// .globl\texact\n" + function;

TEST(PTXPartsTest, EveryFunctionIsAPart) {
  const std::vector<PTXPart> parts = divideAtFunctions(whole, "sm_90a");
  ASSERT_THAT(parts, SizeIs(2));
  EXPECT_EQ(parts[0].text,
            header + shared + ".extern .func exact(\n\t.param .b64 exact_param_0\n);\n" + kernel);
  EXPECT_EQ(parts[0].mostRegisters, 0);
  EXPECT_EQ(parts[1].text, header + shared + function);
  EXPECT_EQ(parts[1].mostRegisters, 168); // 65536 / (3 * 128), by eight
}

// The fewest that any kernel leaves; as many as a thread can have where no bounds are set.
TEST(PTXPartsTest, FunctionsFitTheKernels) {
  const std::string second = ".visible .entry phase1(\n)\n.maxntid 16, 16, 2\n{\n\tret;\n}\n";
  EXPECT_EQ(divideAtFunctions(whole + second, "sm_90a").at(1).mostRegisters, 128);
  const std::string many =
      ".visible .entry phase1(\n)\n.maxntid 128\n.minnctapersm 32\n{\n\tret;\n}\n";
  EXPECT_EQ(divideAtFunctions(whole + many, "sm_90a").at(1).mostRegisters, 168); // as without it
  const std::string bounded =
      ".visible .entry phase1(\n)\n.maxntid 32\n.maxnreg 90\n{\n\tret;\n}\n";
  EXPECT_EQ(divideAtFunctions(whole + bounded, "sm_90a").at(1).mostRegisters, 90);
  const std::string free = ".visible .entry phase0(\n)\n{\n\tret;\n}\n";
  EXPECT_EQ(divideAtFunctions(header + free + function, "sm_90a").at(1).mostRegisters, 255);
}

TEST(PTXPartsTest, RegistersForFunctions) {
  EXPECT_EQ(registersForFunctions(whole), 168);
  EXPECT_EQ(registersForFunctions(header + shared + kernel), 0);
  EXPECT_EQ(registersForFunctions(""), 0);
}

TEST(PTXPartsTest, WhatCannotBeDividedStaysWhole) {
  EXPECT_THAT(divideAtFunctions(header + shared + kernel, "sm_90a"), IsEmpty());
  for (const char *arch : {"sm_80", "sm_89", "sm_", "", "x"})
    EXPECT_THAT(divideAtFunctions(whole, arch), IsEmpty()) << arch;
  EXPECT_THAT(divideAtFunctions(whole, "sm_120"), SizeIs(2));
  EXPECT_THAT(divideAtFunctions(header + ".global .align 4 .b8 table[4] = {1, 2, 3, 4};\n" +
                                    whole.substr(header.size()),
                                "sm_90"),
              IsEmpty());
  for (const char *text : {"", "not PTX", "not PTX\n", ".", ".version 7.8", ".visible .func f(",
                           ".visible .func f(\n)\n{\n", "\n\n\n", "}"})
    for (const PTXPart &part : divideAtFunctions(text, "sm_90a"))
      EXPECT_THAT(part.text, StartsWith(".visible .func f(")) << text;
}

TEST(PTXPartsTest, JoiningIsTheReverse) {
  std::vector<std::string> texts;
  for (const PTXPart &part : divideAtFunctions(whole, "sm_90a"))
    texts.push_back(part.text);
  const std::string joined = joinPTX(texts);
  EXPECT_EQ(joined, header + shared + ".visible .func exact(\n\t.param .b64 exact_param_0\n);\n\n" +
                        kernel + '\n' + function + '\n');
  std::vector<std::string> again;
  for (const PTXPart &part : divideAtFunctions(joined, "sm_90a"))
    again.push_back(part.text);
  EXPECT_EQ(again, texts);
  // A function ahead of the kernel that calls it, in a part of its own.
  EXPECT_THAT(joinPTX(std::vector{texts[1], texts[0]}), StartsWith(header + shared));
  EXPECT_THAT(joinPTX(std::vector{texts[0]}), Not(HasSubstr(".extern .func")));
}

} // namespace
