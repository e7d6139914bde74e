//===- ObjectLoader.cpp - an ELF relocatable made callable -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Order: read and check the headers, lay out the loaded sections (code first,
// then read-only data, page-aligned), map them writable, copy, relocate, and
// only then make them executable or read-only. Structures are copied out of
// the file with memcpy, so alignment in the file does not matter.
//
//===----------------------------------------------------------------------===//
#include "runtime/CPU/ObjectLoader.h"

#include "runtime/Support/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <limits>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace flashc {

namespace {

/// Kernels take kilobytes; more than this is not one of ours.
constexpr uint64_t maxLoadedBytes = uint64_t(256) << 20;
constexpr uint64_t maxAlignment = 4096;
constexpr uint64_t maxNameBytes = 1024;

} // namespace

/// One load in progress. The file's bytes are untrusted throughout.
class ObjectReader {
public:
  explicit ObjectReader(std::span<const std::byte> file) : file(file) {}

  std::shared_ptr<const LoadedObject> load() {
    readSections();
    layOut();
    readSymbols();
    mapAndCopy();
    for (size_t index = 0; index < sections.size(); ++index)
      relocateFrom(index);
    protect();
    return object;
  }

private:
  struct Section {
    Elf64_Shdr header;
    std::string_view name;
    bool loaded = false;
    uint64_t offset = 0; ///< in the mapping, where loaded
  };
  struct FileSymbol {
    std::string_view name;
    const Section *section; ///< nullptr: absolute or not loaded
    uint64_t offset;        ///< in the mapping
  };

  /// The file's bytes [offset, offset + size), checked.
  std::span<const std::byte> slice(uint64_t offset, uint64_t size, const char *what) const {
    if (offset > file.size() || size > file.size() - offset)
      fail("expected ", what, " inside the object's ", file.size(), " bytes, got ", size,
           " bytes at offset ", offset, "; the object is truncated or corrupt");
    return file.subspan(offset, size);
  }

  template <typename T> T read(uint64_t offset, const char *what) const {
    T value;
    std::memcpy(&value, slice(offset, sizeof(T), what).data(), sizeof(T));
    return value;
  }

  /// The NUL-terminated string at `offset` of the string table section `index`.
  std::string_view stringAt(uint64_t index, uint64_t offset) const {
    if (index == 0 || index >= sections.size() || sections[index].header.sh_type != SHT_STRTAB)
      fail("expected a string table, got section ", index, "; the object is corrupt");
    const Elf64_Shdr &header = sections[index].header;
    auto table = slice(header.sh_offset, header.sh_size, "a string table");
    auto rest = table.subspan(std::min<uint64_t>(offset, table.size()));
    rest = rest.first(std::min<uint64_t>(rest.size(), maxNameBytes + 1));
    auto end = std::find(rest.begin(), rest.end(), std::byte(0));
    if (end == rest.end())
      fail("expected a name of at most ", maxNameBytes, " bytes at offset ", offset,
           " of a string table of ", table.size(), " bytes, got no NUL; the object is corrupt");
    return {reinterpret_cast<const char *>(rest.data()), size_t(end - rest.begin())};
  }

  void readSections();
  void checkLoadedSection(const Section &section) const;
  void layOut();
  void readSymbols();
  void readSymbol(uint64_t index, const Elf64_Sym &symbol, std::string_view name);
  void mapAndCopy();
  void relocateFrom(size_t index);
  void relocate(const Section &target, const Elf64_Rela &rela);
  void protect();

  std::span<const std::byte> file;
  std::vector<Section> sections;
  uint64_t symbolTable = 0; ///< section index
  std::vector<FileSymbol> symbols;
  uint64_t codeBytes = 0;  ///< of the mapping, page-aligned; read-only data follows
  uint64_t totalBytes = 0; ///< of the mapping, page-aligned
  std::shared_ptr<LoadedObject> object{new LoadedObject};
};

void ObjectReader::readSections() {
  auto header = read<Elf64_Ehdr>(0, "an ELF header");
  const unsigned char *ident = header.e_ident;
  if (std::memcmp(ident, ELFMAG, SELFMAG) != 0)
    fail("expected an ELF object, got a file without its magic number; pass what "
         "'flashc compile --emit obj' wrote");
  if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB ||
      ident[EI_VERSION] != EV_CURRENT || header.e_version != EV_CURRENT ||
      header.e_machine != EM_X86_64)
    fail("expected a 64-bit little-endian x86-64 object, got class ", int(ident[EI_CLASS]),
         ", encoding ", int(ident[EI_DATA]), ", machine ", header.e_machine,
         "; compile for an x86-64 target");
  if (header.e_type != ET_REL)
    fail("expected a relocatable object, got ELF type ", header.e_type,
         "; pass what 'flashc compile --emit obj' wrote, not a linked file");
  if (header.e_ehsize != sizeof(Elf64_Ehdr) || header.e_shentsize != sizeof(Elf64_Shdr) ||
      header.e_phnum != 0 || header.e_shnum == 0 || header.e_shnum >= SHN_LORESERVE)
    fail("expected an object header with ordinary sections and no segments, got ", header.e_shnum,
         " sections and ", header.e_phnum, " segments; the object is corrupt");

  sections.resize(header.e_shnum);
  for (uint64_t index = 0; index < sections.size(); ++index) {
    // Cannot wrap: the slice below bounds e_shoff, the index is below 2^16.
    slice(header.e_shoff, index * sizeof(Elf64_Shdr), "the section headers");
    sections[index].header =
        read<Elf64_Shdr>(header.e_shoff + index * sizeof(Elf64_Shdr), "a section header");
  }
  for (uint64_t index = 1; index < sections.size(); ++index) {
    Section &section = sections[index];
    section.name = stringAt(header.e_shstrndx, section.header.sh_name);
    if (section.header.sh_type != SHT_NOBITS)
      slice(section.header.sh_offset, section.header.sh_size, "a section");
    if (section.header.sh_type == SHT_SYMTAB) {
      if (symbolTable)
        fail("expected one symbol table, got two; the object is corrupt");
      symbolTable = index;
    }
    if ((section.header.sh_flags & SHF_ALLOC) && section.header.sh_size) {
      checkLoadedSection(section);
      section.loaded = true;
    }
  }
}

/// Refuses what a kernel has no use for, so that the rest of the loader need not know it.
void ObjectReader::checkLoadedSection(const Section &section) const {
  const Elf64_Shdr &header = section.header;
  constexpr uint64_t knownFlags = SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR | SHF_MERGE | SHF_STRINGS |
                                  SHF_GROUP | SHF_INFO_LINK | SHF_LINK_ORDER;
  constexpr uint32_t unwindType = 0x70000001; // SHT_X86_64_UNWIND
  if (header.sh_type != SHT_PROGBITS && header.sh_type != SHT_NOBITS &&
      header.sh_type != SHT_NOTE && header.sh_type != unwindType)
    fail("expected only code and constant data to load, got section '", section.name, "' of type ",
         header.sh_type, "; constructors and the like do not belong in a kernel");
  if (header.sh_flags & ~knownFlags)
    fail("expected plain code and data, got section '", section.name, "' with flags ",
         header.sh_flags, "; thread-local and compressed sections do not belong in a kernel");
  // .data.rel.ro is constant once its addresses are filled in.
  if ((header.sh_flags & SHF_WRITE) && !section.name.starts_with(".data.rel.ro"))
    fail("expected no writable data, got section '", section.name, "' of ", header.sh_size,
         " bytes; a kernel keeps no state between calls");
  if ((header.sh_flags & SHF_WRITE) && (header.sh_flags & SHF_EXECINSTR))
    fail("expected no section that is writable and executable, got '", section.name,
         "'; the object is corrupt");
  uint64_t align = std::max<uint64_t>(header.sh_addralign, 1);
  if ((align & (align - 1)) || align > maxAlignment)
    fail("expected a section alignment that is a power of two up to ", maxAlignment, ", got ",
         align, " for '", section.name, "'; the object is corrupt");
  if (header.sh_size > maxLoadedBytes)
    fail("expected at most ", maxLoadedBytes, " bytes of code and data, got section '",
         section.name, "' of ", header.sh_size, "; the object is corrupt");
}

void ObjectReader::layOut() {
  uint64_t pageBytes = sysconf(_SC_PAGESIZE);
  auto alignTo = [](uint64_t value, uint64_t align) { return (value + align - 1) / align * align; };
  // Sanitizers read a signature before the function that they see called: it must be mapped.
  uint64_t offset = 64;
  for (bool code : {true, false}) {
    for (Section &section : sections) {
      if (!section.loaded || bool(section.header.sh_flags & SHF_EXECINSTR) != code)
        continue;
      offset = alignTo(offset, std::max<uint64_t>(section.header.sh_addralign, 1));
      section.offset = offset;
      // Cannot wrap: fewer than 2^16 sections, each below maxLoadedBytes = 2^28.
      offset += section.header.sh_size;
    }
    offset = alignTo(offset, pageBytes);
    if (code)
      codeBytes = offset;
  }
  totalBytes = offset;
  if (std::none_of(sections.begin(), sections.end(), [](auto &section) { return section.loaded; }))
    fail("expected an object with code, got one with nothing to load; pass what "
         "'flashc compile --emit obj' wrote");
  if (totalBytes > maxLoadedBytes)
    fail("expected at most ", maxLoadedBytes, " bytes of code and data, got ", totalBytes,
         "; the object is corrupt");
}

void ObjectReader::readSymbols() {
  if (!symbolTable)
    fail("expected a symbol table, got none; do not strip kernel objects");
  const Elf64_Shdr &header = sections[symbolTable].header;
  if (header.sh_entsize != sizeof(Elf64_Sym) || header.sh_size % sizeof(Elf64_Sym))
    fail("expected symbols of ", sizeof(Elf64_Sym), " bytes, got entries of ", header.sh_entsize,
         "; the object is corrupt");
  uint64_t count = header.sh_size / sizeof(Elf64_Sym);
  symbols.reserve(count);
  for (uint64_t index = 0; index < count; ++index) {
    auto symbol = read<Elf64_Sym>(header.sh_offset + index * sizeof(Elf64_Sym), "a symbol");
    readSymbol(index, symbol, stringAt(header.sh_link, symbol.st_name));
  }
}

void ObjectReader::readSymbol(uint64_t index, const Elf64_Sym &symbol, std::string_view name) {
  unsigned type = ELF64_ST_TYPE(symbol.st_info);
  unsigned binding = ELF64_ST_BIND(symbol.st_info);
  FileSymbol &entry = symbols.emplace_back(FileSymbol{name, nullptr, 0});
  if (index == 0)
    return;
  if (symbol.st_shndx == SHN_UNDEF)
    fail("expected an object that calls nothing outside itself, got undefined symbol '", name,
         "'; it was not written by 'flashc compile'");
  if (symbol.st_shndx == SHN_ABS && type == STT_FILE)
    return;
  if (symbol.st_shndx >= sections.size())
    fail("expected symbol '", name, "' in one of ", sections.size(), " sections, got section ",
         symbol.st_shndx, "; the object is corrupt");
  if (type != STT_NOTYPE && type != STT_OBJECT && type != STT_FUNC && type != STT_SECTION)
    fail("expected functions and data, got symbol '", name, "' of type ", type,
         "; it was not written by 'flashc compile'");
  const Section &section = sections[symbol.st_shndx];
  if (!section.loaded)
    return;
  uint64_t size = section.header.sh_size;
  if (symbol.st_value > size || symbol.st_size > size - symbol.st_value)
    fail("expected symbol '", name, "' inside section '", section.name, "' of ", size,
         " bytes, got ", symbol.st_size, " bytes at ", symbol.st_value, "; the object is corrupt");
  entry.section = &section;
  entry.offset = section.offset + symbol.st_value;
  if (binding == STB_LOCAL || type == STT_SECTION)
    return;
  bool isFunction = type == STT_FUNC && (section.header.sh_flags & SHF_EXECINSTR);
  // The address is filled in once the mapping exists; until then it is the offset.
  auto *address = reinterpret_cast<const std::byte *>(entry.offset);
  if (!object->symbols
           .try_emplace(std::string(name),
                        LoadedObject::Symbol{address, symbol.st_size, isFunction})
           .second)
    fail("expected distinct global symbols, got '", name, "' twice; the object is corrupt");
}

void ObjectReader::mapAndCopy() {
  void *memory =
      mmap(nullptr, totalBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    fail("expected ", totalBytes, " bytes of memory for a kernel, got: ", std::strerror(errno),
         "; free some memory");
  object->base = static_cast<std::byte *>(memory);
  object->mappedBytes = totalBytes;
  for (auto &[name, symbol] : object->symbols)
    symbol.address = object->base + reinterpret_cast<uintptr_t>(symbol.address);
  for (const Section &section : sections) {
    if (!section.loaded || section.header.sh_type == SHT_NOBITS)
      continue;
    auto bytes = slice(section.header.sh_offset, section.header.sh_size, "a section");
    std::memcpy(object->base + section.offset, bytes.data(), bytes.size());
  }
}

void ObjectReader::relocateFrom(size_t index) {
  const Elf64_Shdr &header = sections[index].header;
  if (header.sh_type != SHT_RELA && header.sh_type != SHT_REL)
    return;
  if (header.sh_info == 0 || header.sh_info >= sections.size())
    fail("expected relocations of one of ", sections.size(), " sections, got section ",
         header.sh_info, "; the object is corrupt");
  const Section &target = sections[header.sh_info];
  if (!target.loaded)
    return; // debug information and the like
  if (header.sh_type != SHT_RELA || header.sh_entsize != sizeof(Elf64_Rela) ||
      header.sh_size % sizeof(Elf64_Rela) || header.sh_link != symbolTable ||
      target.header.sh_type == SHT_NOBITS)
    fail("expected relocations with addends against the symbol table, got section '",
         sections[index].name, "'; the object is corrupt");
  uint64_t count = header.sh_size / sizeof(Elf64_Rela);
  for (uint64_t entry = 0; entry < count; ++entry)
    relocate(target,
             read<Elf64_Rela>(header.sh_offset + entry * sizeof(Elf64_Rela), "a relocation"));
}

void ObjectReader::relocate(const Section &target, const Elf64_Rela &rela) {
  uint64_t type = ELF64_R_TYPE(rela.r_info);
  uint64_t index = ELF64_R_SYM(rela.r_info);
  if (type == R_X86_64_NONE)
    return;
  if (index == 0 || index >= symbols.size() || !symbols[index].section)
    fail("expected a relocation against code or data, got symbol ", index, " of ", symbols.size(),
         "; the object is corrupt");
  bool wide = type == R_X86_64_64 || type == R_X86_64_PC64;
  if (!wide && type != R_X86_64_PC32 && type != R_X86_64_PLT32)
    fail("expected direct and pc-relative relocations, got type ", type, " against '",
         symbols[index].name, "'; it was not written by 'flashc compile'");
  uint64_t width = wide ? 8 : 4;
  uint64_t size = target.header.sh_size;
  if (rela.r_offset > size || width > size - rela.r_offset)
    fail("expected a relocation inside section '", target.name, "' of ", size, " bytes, got ",
         "offset ", rela.r_offset, "; the object is corrupt");

  std::byte *place = object->base + target.offset + rela.r_offset;
  // Unsigned, so that a hostile addend wraps instead of being undefined.
  uint64_t value =
      reinterpret_cast<uint64_t>(object->base) + symbols[index].offset + uint64_t(rela.r_addend);
  if (type != R_X86_64_64)
    value -= reinterpret_cast<uint64_t>(place);
  if (wide) {
    std::memcpy(place, &value, sizeof value);
    return;
  }
  auto distance = static_cast<int64_t>(value);
  if (distance < std::numeric_limits<int32_t>::min() ||
      distance > std::numeric_limits<int32_t>::max())
    fail("expected '", symbols[index].name, "' within 2 GiB of its use, got a distance of ",
         distance, "; the object is corrupt");
  auto narrow = static_cast<int32_t>(distance);
  std::memcpy(place, &narrow, sizeof narrow);
}

void ObjectReader::protect() {
  auto set = [&](uint64_t offset, uint64_t size, int protection) {
    if (size && mprotect(object->base + offset, size, protection) != 0)
      fail("expected the system to allow executable memory, got: ", std::strerror(errno),
           "; allow this process to map code (SELinux: execmem)");
  };
  set(0, codeBytes, PROT_READ | PROT_EXEC);
  set(codeBytes, totalBytes - codeBytes, PROT_READ);
}

std::shared_ptr<const LoadedObject> LoadedObject::load(std::span<const std::byte> bytes) {
  return ObjectReader(bytes).load();
}

LoadedObject::~LoadedObject() {
  if (base)
    munmap(base, mappedBytes);
}

const void *LoadedObject::lookup(std::string_view name) const {
  auto found = symbols.find(name);
  return found == symbols.end() ? nullptr : found->second.address;
}

const void *LoadedObject::requireFunction(std::string_view name) const {
  auto found = symbols.find(name);
  if (found == symbols.end() || !found->second.isFunction)
    fail("expected an object that defines function '", name, "', got ",
         found == symbols.end() ? "none" : "data of that name",
         "; it was not written by 'flashc compile'");
  return found->second.address;
}

std::string_view LoadedObject::text(std::string_view name) const {
  auto found = symbols.find(name);
  if (found == symbols.end() || found->second.isFunction)
    fail("expected an object that defines character array '", name,
         "', got none; it was not written by 'flashc compile'");
  const auto *begin = reinterpret_cast<const char *>(found->second.address);
  const void *end = std::memchr(begin, 0, found->second.size);
  if (!end)
    fail("expected '", name, "' to end with a NUL, got ", found->second.size,
         " bytes without one; the object is corrupt");
  return {begin, size_t(static_cast<const char *>(end) - begin)};
}

} // namespace flashc
