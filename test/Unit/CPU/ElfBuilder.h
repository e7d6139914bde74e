//===- ElfBuilder.h - hand-made ELF objects for loader tests -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Builds small relocatables field by field, so that tests and the fuzzer's
// seeds need no compiler and can break any field they like.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_TEST_UNIT_CPU_ELFBUILDER_H
#define FLASHC_TEST_UNIT_CPU_ELFBUILDER_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <string>
#include <vector>

namespace flashc::test {

struct ElfBuilder {
  struct Section {
    std::string name;
    Elf64_Shdr header = {};
    std::string bytes;
  };
  Elf64_Ehdr header = {};
  std::vector<Section> sections = {{}}; // section 0 is empty
  std::vector<Elf64_Sym> symbols = {{}};
  std::vector<Elf64_Rela> relocations;
  std::string strings = std::string(1, '\0');
  uint32_t relocated = 0; ///< the section that `relocations` apply to

  ElfBuilder() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_REL;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof(Elf64_Ehdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
  }

  uint32_t addString(const std::string &text) {
    uint32_t at = uint32_t(strings.size());
    strings += text + '\0';
    return at;
  }

  uint32_t addSection(const std::string &name, uint32_t type, uint64_t flags, std::string bytes,
                      uint64_t align = 16) {
    Section section{name, {}, std::move(bytes)};
    section.header.sh_name = addString(name);
    section.header.sh_type = type;
    section.header.sh_flags = flags;
    section.header.sh_addralign = align;
    section.header.sh_size = section.bytes.size();
    sections.push_back(section);
    return uint32_t(sections.size() - 1);
  }

  uint32_t addSymbol(const std::string &name, uint16_t section, uint64_t value, uint64_t size,
                     int type = STT_FUNC, int binding = STB_GLOBAL) {
    Elf64_Sym symbol = {};
    symbol.st_name = addString(name);
    symbol.st_info = ELF64_ST_INFO(binding, type);
    symbol.st_shndx = section;
    symbol.st_value = value;
    symbol.st_size = size;
    symbols.push_back(symbol);
    return uint32_t(symbols.size() - 1);
  }

  void addRelocation(uint64_t offset, uint32_t symbol, uint32_t type, int64_t addend) {
    relocations.push_back({offset, ELF64_R_INFO(uint64_t(symbol), uint64_t(type)), addend});
  }

  /// The file: header, section bytes, section headers. Call once.
  std::string build() {
    uint32_t symtab = addSection(
        ".symtab", SHT_SYMTAB, 0,
        std::string(reinterpret_cast<char *>(symbols.data()), symbols.size() * sizeof(Elf64_Sym)),
        8);
    sections[symtab].header.sh_entsize = sizeof(Elf64_Sym);
    uint32_t rela = addSection(".rela", SHT_RELA, 0,
                               std::string(reinterpret_cast<char *>(relocations.data()),
                                           relocations.size() * sizeof(Elf64_Rela)),
                               8);
    sections[rela].header.sh_entsize = sizeof(Elf64_Rela);
    sections[rela].header.sh_link = symtab;
    sections[rela].header.sh_info = relocated ? relocated : 1;
    uint32_t strtab = addSection(".strtab", SHT_STRTAB, 0, "", 1);
    sections[strtab].bytes = strings;
    sections[strtab].header.sh_size = strings.size();
    sections[symtab].header.sh_link = strtab;

    std::string file(sizeof(Elf64_Ehdr), '\0');
    for (Section &section : sections) {
      section.header.sh_offset = file.size();
      file += section.bytes;
    }
    header.e_shoff = file.size();
    header.e_shnum = uint16_t(sections.size());
    header.e_shstrndx = uint16_t(strtab);
    for (Section &section : sections)
      file.append(reinterpret_cast<char *>(&section.header), sizeof section.header);
    std::memcpy(file.data(), &header, sizeof header);
    return file;
  }
};

/// An object whose function `flashc_answer` returns the int at `value` (42), reached by a
/// pc-relative load, with a pointer to it in .data.rel.ro and a text in .rodata.
inline ElfBuilder answerObject() {
  ElfBuilder elf;
  // mov eax, [rip + value]; ret
  uint32_t text = elf.addSection(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
                                 std::string("\x8b\x05\0\0\0\0\xc3", 7));
  uint32_t rodata = elf.addSection(".rodata", SHT_PROGBITS, SHF_ALLOC,
                                   std::string("\x2a\0\0\0{\"abi\":2}\0", 14), 8);
  elf.addSymbol("flashc_answer", uint16_t(text), 0, 7);
  uint32_t value = elf.addSymbol("value", uint16_t(rodata), 0, 4, STT_OBJECT, STB_LOCAL);
  elf.addSymbol("flashc_kernel_info", uint16_t(rodata), 4, 10, STT_OBJECT);
  elf.relocated = text;
  elf.addRelocation(2, value, R_X86_64_PC32, -4);
  return elf;
}

} // namespace flashc::test

#endif // FLASHC_TEST_UNIT_CPU_ELFBUILDER_H
