//===- Npy.cpp - NumPy .npy arrays -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Layout of the file: magic, version, header length, header (NpyHeader.cpp),
// then the elements. Fortran order is turned into C order chunk by chunk while
// reading, so that the array is in memory only once.
//
//===----------------------------------------------------------------------===//
#include "runtime/IO/Npy.h"

#include "runtime/IO/Messages.h"

#include "runtime/IO/AtomicFile.h"
#include "runtime/IO/Convert.h"

#include <algorithm>
#include <array>

namespace flashc {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr uint32_t kMaxHeaderBytes = 1 << 16;

template <size_t N> std::array<uint8_t, N> readRaw(ByteStream &in) {
  std::array<uint8_t, N> raw;
  in.read(std::as_writable_bytes(std::span(raw)));
  return raw;
}

NpyHeader readHeader(ByteStream &in) {
  const std::string name = in.name();
  constexpr size_t prefixBytes = 8;
  if (in.remaining() < prefixBytes)
    fail(name, ": expected a .npy file, got only ", in.remaining(),
         " bytes; the file is truncated, write it with numpy.save");
  const auto prefix = readRaw<prefixBytes>(in);
  if (!std::equal(kMagic.begin(), kMagic.end(), prefix.begin(),
                  [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; }))
    fail(name, ": expected a .npy file (magic \\x93NUMPY), got ",
         printable({reinterpret_cast<const char *>(prefix.data()), kMagic.size()}),
         "; write it with numpy.save");
  const unsigned major = prefix[6], minor = prefix[7];
  if (major < 1 || major > 3 || minor != 0)
    fail(name, ": expected .npy version 1.0, 2.0 or 3.0, got ", major, ".", minor,
         "; write it with numpy.save");

  uint32_t length = 0;
  if (major == 1) {
    const auto raw = readRaw<2>(in);
    length = raw[0] | uint32_t(raw[1]) << 8;
  } else {
    const auto raw = readRaw<4>(in);
    length = raw[0] | uint32_t(raw[1]) << 8 | uint32_t(raw[2]) << 16 | uint32_t(raw[3]) << 24;
  }
  if (length > kMaxHeaderBytes)
    fail(name, ": expected a .npy header of at most ", kMaxHeaderBytes, " bytes, got ", length,
         "; write the array with a plain element type");
  if (length > in.remaining())
    fail(name, ": expected a .npy header of ", length, " bytes, got ", in.remaining(),
         "; the file is truncated, write it again");
  std::string text(length, '\0');
  in.read(std::as_writable_bytes(std::span(text)));
  return parseNpyHeader(text, name);
}

/// Reverses the bytes of each element of `size` bytes.
void swapBytes(std::span<std::byte> bytes, size_t size) {
  if (size == 1)
    return;
  for (size_t i = 0; i + size <= bytes.size(); i += size)
    std::reverse(bytes.begin() + i, bytes.begin() + i + size);
}

/// Reads the elements of a Fortran-order file into C order; `Size` is that of an element.
template <size_t Size>
void readFortranElements(ByteStream &in, const NpyHeader &header, HostArray &array) {
  constexpr size_t chunkElements = (size_t(1) << 18) / Size;
  const std::vector<int64_t> strides = array.strides();
  std::vector<int64_t> index(array.shape.size(), 0);
  int64_t target = 0; // the C-order position of `index`
  uint64_t rest = static_cast<uint64_t>(array.numElements());
  std::vector<std::byte> chunk(std::min<uint64_t>(chunkElements, rest) * Size);
  while (rest > 0) {
    const std::span<std::byte> part(chunk.data(), std::min<uint64_t>(chunkElements, rest) * Size);
    in.read(part);
    if (header.bigEndian)
      swapBytes(part, Size);
    for (size_t i = 0; i < part.size(); i += Size) {
      std::memcpy(array.data.data() + target * Size, part.data() + i, Size);
      for (size_t d = 0; d < index.size(); ++d) {
        target += strides[d];
        if (++index[d] < array.shape[d])
          break;
        target -= index[d] * strides[d];
        index[d] = 0;
      }
    }
    rest -= part.size() / Size;
  }
}

void readFortran(ByteStream &in, const NpyHeader &header, HostArray &array) {
  switch (sizeOf(array.dtype)) {
  case 1:
    return readFortranElements<1>(in, header, array);
  case 2:
    return readFortranElements<2>(in, header, array);
  case 4:
    return readFortranElements<4>(in, header, array);
  default:
    return readFortranElements<8>(in, header, array);
  }
}

/// The version 1.0 prefix and header of `array`, padded so that the data is 64-byte aligned.
std::string formatHeader(const HostArray &array) {
  static_assert(std::endian::native == std::endian::little);
  const char *descr = nullptr;
  switch (array.dtype) {
  case DType::Bool:
    descr = "|b1";
    break;
  case DType::I8:
    descr = "|i1";
    break;
  case DType::I16:
    descr = "<i2";
    break;
  case DType::I32:
    descr = "<i4";
    break;
  case DType::I64:
    descr = "<i8";
    break;
  case DType::U8:
    descr = "|u1";
    break;
  case DType::F16:
    descr = "<f2";
    break;
  case DType::BF16: // converted by the caller
  case DType::F32:
    descr = "<f4";
    break;
  case DType::F64:
    descr = "<f8";
    break;
  }
  std::string header = concat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (");
  for (size_t d = 0; d < array.shape.size(); ++d)
    header += concat(d ? ", " : "", array.shape[d]);
  header += array.shape.size() == 1 ? ",), }" : "), }";

  constexpr size_t prefixBytes = 10, alignment = 64;
  const size_t used = prefixBytes + header.size() + 1;
  header.append((alignment - used % alignment) % alignment, ' ');
  header += '\n';
  if (header.size() > 0xffff)
    fail("expected a shape that fits a .npy header, got rank ", array.rank(),
         "; use fewer dimensions");
  std::string prefix(kMagic);
  prefix += {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return prefix + header;
}

} // namespace

HostArray readNpy(ByteStream &in) {
  NpyHeader header = readHeader(in);
  const std::string name = in.name();
  const std::optional<int64_t> bytes = countBytes(header.dtype, header.shape);
  if (!bytes)
    fail(name, ": expected a shape whose size in bytes fits in 63 bits, got ",
         shapeToString(header.shape), " of ", nameOf(header.dtype),
         "; the header is damaged, write the file again");
  if (static_cast<uint64_t>(*bytes) != in.remaining())
    fail(name, ": expected ", *bytes, " bytes of data for shape ", shapeToString(header.shape),
         " of ", nameOf(header.dtype), ", got ", in.remaining(),
         "; the file is truncated or holds more than one array, write it again");

  HostArray array{header.dtype, header.shape, {}};
  if (header.fortranOrder && array.shape.size() > 1) {
    array.data = allocateBytes(static_cast<uint64_t>(*bytes), name);
    readFortran(in, header, array);
  } else {
    array.data = readBytes(in, static_cast<uint64_t>(*bytes));
    if (header.bigEndian)
      swapBytes(array.data, sizeOf(array.dtype));
  }
  if (array.dtype == DType::Bool)
    normalizeBool(array.data);
  return array;
}

HostArray readNpy(const std::string &path, const ReadLimits &limits) {
  const auto source = ByteSource::openFile(path, limits);
  SourceStream stream(*source);
  return readNpy(stream);
}

HostArray parseNpy(std::span<const std::byte> bytes, const std::string &name,
                   const ReadLimits &limits) {
  const auto source = ByteSource::fromMemory(bytes, name, limits);
  SourceStream stream(*source);
  return readNpy(stream);
}

void writeNpy(const std::string &path, const HostArray &array) {
  if (array.dtype == DType::BF16)
    return writeNpy(path, convert(array, DType::F32));
  const std::optional<int64_t> bytes = countBytes(array.dtype, array.shape);
  if (!bytes || static_cast<uint64_t>(*bytes) != array.data.size())
    fail(path, ": expected data that fills shape ", shapeToString(array.shape), " of ",
         nameOf(array.dtype), ", got ", array.data.size(), " bytes; fix the array's shape");
  const std::string header = formatHeader(array);
  writeFileAtomically(path, {std::as_bytes(std::span(header)), std::span(array.data)});
}

} // namespace flashc
