//===- BuildId.cpp - which build a piece of code is from -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "runtime/Support/BuildId.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <span>
#include <unistd.h>
#include <vector>

namespace flashc {
namespace {

/// More than any linker writes; a foreign file may claim anything.
constexpr size_t mostHeaders = 256, mostNoteBytes = 1 << 16;

std::string toHex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes)
    for (const int digit :
         {std::to_integer<int>(byte >> 4), std::to_integer<int>(byte & std::byte{15})})
      text += "0123456789abcdef"[digit];
  return text;
}

/// The build id among the notes of one segment.
std::string findBuildId(std::span<const std::byte> notes, uint64_t alignment) {
  const size_t step = alignment == 8 ? 8 : 4;
  const auto padded = [&](size_t size) { return (size + step - 1) / step * step; };
  ElfW(Nhdr) note;
  while (notes.size() >= sizeof(note)) {
    std::memcpy(&note, notes.data(), sizeof(note));
    const size_t nameEnd = sizeof(note) + size_t(note.n_namesz), begin = padded(nameEnd);
    if (begin > notes.size() || note.n_descsz > notes.size() - begin)
      break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
        std::memcmp(notes.data() + sizeof(note), ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0)
      return toHex(notes.subspan(begin, note.n_descsz));
    const size_t next = padded(begin + note.n_descsz);
    if (next > notes.size())
      break;
    notes = notes.subspan(next);
  }
  return "";
}

struct Search {
  uintptr_t address;
  std::string found;
};

/// Looks into one loaded file; not 0 ends the search.
int visit(dl_phdr_info *info, size_t, void *data) {
  Search &search = *static_cast<Search *>(data);
  const std::span headers(info->dlpi_phdr, info->dlpi_phnum);
  bool isHere = false;
  for (const ElfW(Phdr) &header : headers) {
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    isHere |= header.p_type == PT_LOAD && search.address >= begin &&
              search.address - begin < header.p_memsz;
  }
  if (!isHere)
    return 0;
  for (const ElfW(Phdr) &header : headers)
    if (header.p_type == PT_NOTE && search.found.empty())
      search.found = findBuildId(
          {reinterpret_cast<const std::byte *>(info->dlpi_addr + header.p_vaddr), header.p_memsz},
          header.p_align);
  return 1;
}

bool readAt(int file, void *to, size_t size, uint64_t offset) {
  return ::pread(file, to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}

std::string readBuildId(int file) {
  ElfW(Ehdr) head;
  if (!readAt(file, &head, sizeof(head), 0) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
      head.e_phentsize != sizeof(ElfW(Phdr)) || head.e_phnum > mostHeaders)
    return "";
  std::vector<ElfW(Phdr)> headers(head.e_phnum);
  if (!readAt(file, headers.data(), headers.size() * sizeof(headers[0]), head.e_phoff))
    return "";
  for (const ElfW(Phdr) &header : headers) {
    if (header.p_type != PT_NOTE || header.p_filesz > mostNoteBytes)
      continue;
    std::vector<std::byte> notes(header.p_filesz);
    if (!readAt(file, notes.data(), notes.size(), header.p_offset))
      continue;
    if (const std::string id = findBuildId(notes, header.p_align); !id.empty())
      return id;
  }
  return "";
}

} // namespace

std::string buildIdAt(const void *address) {
  Search search{reinterpret_cast<uintptr_t>(address), ""};
  dl_iterate_phdr(visit, &search);
  return search.found;
}

std::string buildIdOfFile(const std::string &path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return "";
  const std::string id = readBuildId(file);
  ::close(file);
  return id;
}

} // namespace flashc
