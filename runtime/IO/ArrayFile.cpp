//===- ArrayFile.cpp - arrays from any supported file -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// Only the choice between the formats; each has a reader of its own.
//
//===----------------------------------------------------------------------===//
#include "runtime/IO/ArrayFile.h"

#include "runtime/IO/Messages.h"
#include "runtime/IO/Npy.h"

#include <array>
#include <utility>

namespace flashc {
namespace {

constexpr std::array<std::pair<std::string_view, ArrayFormat>, 3> kExtensions = {
    {{".npy", ArrayFormat::Npy},
     {".npz", ArrayFormat::Npz},
     {".safetensors", ArrayFormat::SafeTensors}}};

ArrayFormat formatOf(const std::string &path) {
  for (const auto &[extension, format] : kExtensions)
    if (path.ends_with(extension))
      return format;
  fail(path, ": expected a file named .npy, .npz or .safetensors, got another extension; "
             "rename or convert the file");
}

} // namespace

ArraySpec parseArraySpec(const std::string &spec) {
  size_t colon = std::string::npos;
  for (const auto &[extension, format] : kExtensions) {
    const size_t found =
        format == ArrayFormat::Npy ? std::string::npos : spec.find(std::string(extension) + ":");
    if (found != std::string::npos)
      colon = std::min(colon, found + extension.size());
  }
  if (colon == std::string::npos) {
    const size_t npy = spec.find(".npy:");
    if (npy != std::string::npos && !spec.ends_with(".npy"))
      fail(spec, ": expected no array name after .npy, got ", printable(spec.substr(npy + 5)),
           "; a .npy holds one array, drop the name");
    return {spec, formatOf(spec), ""};
  }
  const std::string path = spec.substr(0, colon);
  if (colon + 1 == spec.size())
    fail(spec, ": expected an array name after ':', got nothing; name an array or drop the colon");
  return {path, formatOf(path), spec.substr(colon + 1)};
}

HostArray ArrayFile::SingleArray::read(const std::string &name) const {
  if (!contains(name))
    failMissingArray(source->name(), name, onlyName);
  SourceStream stream(*source);
  return readNpy(stream);
}

ArrayFile ArrayFile::fromSource(std::shared_ptr<const ByteSource> source, ArrayFormat format,
                                const ReadLimits &limits) {
  switch (format) {
  case ArrayFormat::Npy:
    return ArrayFile(SingleArray{std::move(source)});
  case ArrayFormat::Npz:
    return ArrayFile(NpzFile(std::move(source), limits));
  case ArrayFormat::SafeTensors:
    return ArrayFile(SafeTensorsFile(std::move(source)));
  }
  __builtin_unreachable();
}

ArrayFile ArrayFile::open(const std::string &path, const ReadLimits &limits) {
  const ArrayFormat format = formatOf(path);
  return fromSource(ByteSource::openFile(path, limits), format, limits);
}

ArrayFile ArrayFile::parse(std::span<const std::byte> bytes, ArrayFormat format,
                           const std::string &name, const ReadLimits &limits) {
  return fromSource(ByteSource::fromMemory(bytes, name, limits), format, limits);
}

const std::vector<std::string> &ArrayFile::names() const {
  return std::visit([](const auto &file) -> const auto & { return file.names(); }, container);
}

bool ArrayFile::contains(const std::string &name) const {
  return std::visit([&](const auto &file) { return file.contains(name); }, container);
}

HostArray ArrayFile::read(const std::string &name) const {
  return std::visit([&](const auto &file) { return file.read(name); }, container);
}

HostArray readArray(const std::string &spec, const std::string &defaultName,
                    const ReadLimits &limits) {
  const ArraySpec where = parseArraySpec(spec);
  const ArrayFile file = ArrayFile::open(where.path, limits);
  if (where.format == ArrayFormat::Npy)
    return file.read("");
  return file.read(where.name.empty() ? defaultName : where.name);
}

} // namespace flashc
