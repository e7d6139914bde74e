//===- ObjectLoaderTest.cpp - good objects run, bad ones are refused -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/CPU/ObjectLoader.h"

#include "ElfBuilder.h"
#include "runtime/Support/Error.h"

#include <fstream>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <thread>

using namespace flashc;
using namespace flashc::test;
using testing::HasSubstr;

namespace {

std::shared_ptr<const LoadedObject> loadText(const std::string &file) {
  return LoadedObject::load(std::as_bytes(std::span(file)));
}

std::string errorOf(const std::string &file) {
  try {
    loadText(file);
  } catch (const Error &error) {
    return error.what();
  }
  return "loaded";
}

TEST(ObjectLoader, RunsCodeAndFindsData) {
  auto object = loadText(answerObject().build());
  EXPECT_EQ(object->function<int()>("flashc_answer")(), 42);
  EXPECT_EQ(object->text("flashc_kernel_info"), "{\"abi\":2}");
  EXPECT_EQ(object->lookup("value"), nullptr) << "local symbols are not visible";
  EXPECT_EQ(object->lookup("nothing"), nullptr);
  EXPECT_THROW(object->function<int()>("flashc_kernel_info"), Error);
  EXPECT_THROW(object->text("flashc_answer"), Error);
}

TEST(ObjectLoader, IsUsableFromManyThreadsAndOutlivesItsBytes) {
  std::shared_ptr<const LoadedObject> object;
  {
    std::string file = answerObject().build();
    object = loadText(file);
    std::fill(file.begin(), file.end(), '\xff');
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([object] {
      for (int repeat = 0; repeat < 1000; ++repeat)
        EXPECT_EQ(object->function<int()>("flashc_answer")(), 42);
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(ObjectLoader, RelocatesAllSupportedKinds) {
  ElfBuilder elf;
  elf.addSection(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, "\xc3");
  uint32_t data =
      elf.addSection(".data.rel.ro", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, std::string(24, '\0'), 8);
  uint32_t function = elf.addSymbol("flashc_f", 1, 0, 1);
  elf.addSymbol("flashc_table", uint16_t(data), 0, 24, STT_OBJECT);
  elf.relocated = data;
  elf.addRelocation(0, function, R_X86_64_64, 5);
  elf.addRelocation(8, function, R_X86_64_PC64, 8);
  elf.addRelocation(16, function, R_X86_64_PLT32, 16);
  elf.addRelocation(20, 0, R_X86_64_NONE, 0);
  auto object = loadText(elf.build());
  auto base = reinterpret_cast<uint64_t>(object->lookup("flashc_f"));
  const auto *table = static_cast<const std::byte *>(object->lookup("flashc_table"));
  auto address = reinterpret_cast<uint64_t>(table);
  uint64_t words[2];
  std::memcpy(words, table, sizeof words);
  int32_t distance;
  std::memcpy(&distance, table + 16, sizeof distance);
  EXPECT_EQ(words[0], base + 5);
  EXPECT_EQ(words[1], base + 8 - (address + 8));
  EXPECT_EQ(distance, int32_t(int64_t(base + 16 - (address + 16))));
}

TEST(ObjectLoader, NoPageIsWritableAndExecutable) {
  auto object = loadText(answerObject().build());
  std::ifstream maps("/proc/self/maps");
  auto protectionOf = [&](const void *pointer) {
    auto address = reinterpret_cast<uint64_t>(pointer);
    maps.clear();
    maps.seekg(0);
    for (std::string line; std::getline(maps, line);) {
      uint64_t begin = 0, end = 0;
      char protection[5] = {};
      if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, protection) == 3 &&
          begin <= address && address < end)
        return std::string(protection);
    }
    return std::string("unmapped");
  };
  EXPECT_EQ(protectionOf(object->lookup("flashc_answer")), "r-xp");
  EXPECT_EQ(protectionOf(object->lookup("flashc_kernel_info")), "r--p");
}

/// One broken field each, and what the message must say.
TEST(ObjectLoader, RefusesBrokenObjects) {
  using Breaker = std::function<void(ElfBuilder &)>;
  const std::pair<Breaker, const char *> cases[] = {
      {[](auto &e) { e.header.e_ident[0] = 'X'; }, "expected an ELF object"},
      {[](auto &e) { e.header.e_ident[EI_CLASS] = ELFCLASS32; }, "64-bit little-endian x86-64"},
      {[](auto &e) { e.header.e_machine = EM_AARCH64; }, "64-bit little-endian x86-64"},
      {[](auto &e) { e.header.e_type = ET_DYN; }, "expected a relocatable object"},
      {[](auto &e) { e.header.e_shentsize = 40; }, "ordinary sections"},
      {[](auto &e) { e.header.e_phnum = 1; }, "no segments"},
      {[](auto &e) { e.sections[1].header.sh_size = 1 << 20; }, "truncated or corrupt"},
      {[](auto &e) { e.sections[1].header.sh_name = 1 << 20; }, "expected a name"},
      {[](auto &e) { e.sections[1].header.sh_addralign = 24; }, "power of two"},
      {[](auto &e) { e.sections[1].header.sh_addralign = 1 << 20; }, "power of two"},
      {[](auto &e) { e.sections[1].header.sh_flags |= SHF_WRITE; }, "no writable data"},
      {[](auto &e) { e.sections[1].header.sh_flags |= SHF_TLS; }, "thread-local"},
      {[](auto &e) { e.sections[1].header.sh_type = SHT_INIT_ARRAY; }, "constructors"},
      {[](auto &e) { e.addSection(".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, "x"); },
       "no writable data, got section '.data' of 1 bytes"},
      {[](auto &e) {
         e.addSection(".data.rel.ro.x", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR, "x");
       },
       "writable and executable"},
      {[](auto &e) {
         uint32_t bss = e.addSection(".zeros", SHT_NOBITS, SHF_ALLOC, "");
         e.sections[bss].header.sh_size = uint64_t(1) << 60;
       },
       "expected at most"},
      {[](auto &e) { e.addSymbol("malloc", SHN_UNDEF, 0, 0); },
       "calls nothing outside itself, got undefined symbol 'malloc'"},
      {[](auto &e) { e.addSymbol("common", SHN_COMMON, 8, 8, STT_OBJECT); }, "got section 65522"},
      {[](auto &e) { e.addSymbol("far", 1000, 0, 0); }, "got section 1000"},
      {[](auto &e) { e.addSymbol("long", 1, 4, 4); }, "inside section '.text' of 7 bytes"},
      {[](auto &e) { e.addSymbol("wrap", 1, 1, ~uint64_t(0)); }, "inside section '.text'"},
      {[](auto &e) { e.addSymbol("tls", 1, 0, 0, STT_TLS); }, "of type 6"},
      {[](auto &e) { e.addSymbol("flashc_answer", 1, 0, 7); }, "'flashc_answer' twice"},
      {[](auto &e) { e.addRelocation(4, 2, R_X86_64_PC32, 0); }, "got offset 4"},
      {[](auto &e) { e.addRelocation(~uint64_t(0), 2, R_X86_64_PC32, 0); }, "inside section"},
      {[](auto &e) { e.addRelocation(0, 0, R_X86_64_PC32, 0); }, "got symbol 0"},
      {[](auto &e) { e.addRelocation(0, 99, R_X86_64_PC32, 0); }, "got symbol 99"},
      {[](auto &e) { e.addRelocation(0, 2, R_X86_64_GOTPCREL, 0); }, "got type 9"},
      {[](auto &e) { e.addRelocation(0, 2, R_X86_64_PC32, INT64_MAX); }, "within 2 GiB"},
      {[](auto &e) { e.addRelocation(0, 2, R_X86_64_PC32, int64_t(1) << 31); }, "within 2 GiB"},
      {[](auto &e) { e.relocated = 77; }, "got section 77"},
  };
  for (const auto &[breakIt, message] : cases) {
    ElfBuilder elf = answerObject();
    breakIt(elf);
    EXPECT_THAT(errorOf(elf.build()), HasSubstr(message));
  }
}

TEST(ObjectLoader, RefusesEveryTruncation) {
  std::string file = answerObject().build();
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_THAT(errorOf(file.substr(0, size)), HasSubstr("expected")) << size;
  EXPECT_EQ(errorOf(file), "loaded");
}

TEST(ObjectLoader, SurvivesRandomBytes) {
  const std::string good = answerObject().build();
  std::mt19937 random(7);
  for (int repeat = 0; repeat < 20000; ++repeat) {
    std::string file = good;
    for (int change = random() % 4; change >= 0; --change)
      file[random() % file.size()] = char(random());
    errorOf(file); // either outcome; the sanitizers watch
  }
}

TEST(ObjectLoader, RefusesObjectsWithNothingToLoad) {
  EXPECT_THAT(errorOf(ElfBuilder().build()), HasSubstr("nothing to load"));
  EXPECT_THAT(errorOf(""), HasSubstr("truncated"));
}

TEST(ObjectLoader, RefusesTextWithoutNul) {
  ElfBuilder elf = answerObject();
  elf.addSymbol("flashc_cut", 2, 4, 3, STT_OBJECT);
  auto object = loadText(elf.build());
  EXPECT_THROW(object->text("flashc_cut"), Error);
}

} // namespace
