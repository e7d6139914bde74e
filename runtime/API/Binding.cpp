//===- Binding.cpp - tensors checked and laid out for a kernel -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// First every tensor by itself (View), then all of them together (Checker).
//
//===----------------------------------------------------------------------===//
#include "runtime/API/Binding.h"
#include "runtime/API/Overlap.h"
#include "runtime/Support/Error.h"
#include "runtime/Support/HostArray.h"

#include <algorithm>
#include <cstring>

namespace flashc {
namespace {

__extension__ using Wide = __int128;

constexpr int64_t maxExtent = int64_t(1) << 40;
constexpr uint8_t dlBool = 6; // kDLBool of later DLPack headers

std::string describe(DLDataType type) {
  if (const std::optional<DType> known = fromDLPack(type))
    return nameOf(*known);
  return concat("DLPack type code ", int(type.code), " of ", int(type.bits), " bits and ",
                type.lanes, " lanes");
}

/// One tensor that is right by itself.
struct View {
  const KernelArgument *argument = nullptr;
  const std::byte *data = nullptr;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides; ///< 0 where the extent is below 2, but 1 in the last dimension
  bool empty = false;

  View(const KernelInfo &info, const KernelArgument &argument, const DLTensor *tensor);

  StridedView strided() const {
    return {data, static_cast<int64_t>(sizeOf(argument->dtype)), shape, strides};
  }

  /// Element `n` of a rank-1 view of i32 or i64.
  int64_t integerAt(int64_t n) const { return integerAtOffset(n * strides[0]); }
  /// Element (n, m) of a rank-2 view.
  int64_t integerAt(int64_t n, int64_t m) const {
    return integerAtOffset(n * strides[0] + m * strides[1]);
  }

  /// The element at an offset in elements.
  int64_t integerAtOffset(int64_t offset) const {
    const std::byte *element = data + offset * static_cast<int64_t>(sizeOf(argument->dtype));
    if (argument->dtype == DType::I32) {
      int32_t value;
      std::memcpy(&value, element, sizeof(value));
      return value;
    }
    int64_t value;
    std::memcpy(&value, element, sizeof(value));
    return value;
  }
};

/// The kind of a GPU tensor's memory.
cuda::MemoryKind memoryKind(const std::string &name, const DLTensor &tensor) {
  switch (tensor.device.device_type) {
  case kDLCUDA:
    return cuda::MemoryKind::Device;
  case kDLCUDAManaged:
    return cuda::MemoryKind::Managed;
  case kDLCUDAHost:
    return cuda::MemoryKind::PinnedHost;
  default:
    fail(name, ": expected a tensor in CUDA memory (device type 2), got device type ",
         int(tensor.device.device_type), "; copy it to the device");
  }
}

/// The device that the tensors are on. Managed and pinned memory is every device's, and DLPack gives
/// it the ordinal 0; where there is nothing else, that decides.
int findDevice(const KernelInfo &info, std::span<const DLTensor *const> tensors) {
  size_t first = tensors.size();
  for (size_t n = 0; n < tensors.size(); ++n) {
    if (tensors[n]->device.device_type != kDLCUDA)
      continue;
    if (first == tensors.size())
      first = n;
    else if (tensors[n]->device.device_id != tensors[first]->device.device_id)
      fail(info.arguments[n].name, ": expected a tensor on device ",
           tensors[first]->device.device_id, ", as ", info.arguments[first].name, ", got device ",
           tensors[n]->device.device_id, "; copy all tensors to one device");
  }
  return tensors[first < tensors.size() ? first : 0]->device.device_id;
}

void checkType(const KernelInfo &info, const KernelArgument &argument, const DLTensor &tensor) {
  if (info.isForGPU())
    memoryKind(argument.name, tensor);
  else if (tensor.device.device_type != kDLCPU)
    fail(argument.name, ": expected a tensor in CPU memory (device type 1), got device type ",
         int(tensor.device.device_type), "; copy it to the host");
  const std::optional<DType> type = fromDLPack(tensor.dtype);
  const bool bytesForBool = argument.dtype == DType::Bool && type == DType::U8;
  if (type != argument.dtype && !bytesForBool)
    fail(argument.name, ": expected ", nameOf(argument.dtype), ", got ", describe(tensor.dtype),
         "; convert the tensor, or compile for its type");
}

void checkShape(const KernelArgument &argument, std::span<const int64_t> shape) {
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 0 || shape[d] >= maxExtent)
      fail(argument.name, ": expected extents from 0 to 2^40 - 1, got shape ",
           shapeToString(shape));
    if (argument.shape[d] >= 0 && shape[d] != argument.shape[d])
      fail(argument.name, ": expected extent ", argument.shape[d], " in dimension ", d,
           ", got shape ", shapeToString(shape), "; the kernel was compiled for that extent");
  }
}

View::View(const KernelInfo &info, const KernelArgument &argument, const DLTensor *tensor)
    : argument(&argument) {
  const std::string &name = argument.name;
  if (!tensor)
    fail(name, ": expected a tensor, got a null pointer");
  const size_t rank = argument.shape.size();
  checkType(info, argument, *tensor);
  if (tensor->ndim < 0 || static_cast<size_t>(tensor->ndim) != rank)
    fail(name, ": expected rank ", rank, ", got ", tensor->ndim);
  if (rank && !tensor->shape)
    fail(name, ": expected a shape, got a null pointer");
  shape.assign(tensor->shape, tensor->shape + rank);
  checkShape(argument, shape);
  empty = std::find(shape.begin(), shape.end(), 0) != shape.end();

  const int64_t elementBytes = static_cast<int64_t>(sizeOf(argument.dtype));
  strides.assign(rank, 0);
  Wide dense = 1, reach = 0;
  for (size_t d = rank; d-- > 0; dense *= std::max<int64_t>(shape[d], 1)) {
    if (empty || shape[d] < 2) {
      strides[d] = d + 1 == rank;
      continue;
    }
    // Beyond int64 the reach is too long in any case; the cap keeps the products in range.
    const Wide stride = tensor->strides ? Wide(tensor->strides[d]) : dense;
    reach += (stride < 0 ? -stride : stride) * (shape[d] - 1) * elementBytes;
    if (reach >= Wide(1) << 62)
      fail(name, ": expected a tensor that spans less than 2^62 bytes, got shape ",
           shapeToString(shape), " with stride ", static_cast<int64_t>(stride), " in dimension ",
           d);
    strides[d] = static_cast<int64_t>(stride);
  }
  if (empty)
    return;
  if (!tensor->data)
    fail(name, ": expected data for shape ", shapeToString(shape), ", got a null pointer");
  data = static_cast<const std::byte *>(tensor->data) + tensor->byte_offset;
  if (reinterpret_cast<uintptr_t>(data) % elementBytes != 0)
    fail(name, ": expected an address that is a multiple of ", elementBytes, " for ",
         nameOf(argument.dtype), ", got ", static_cast<const void *>(data), "; copy the tensor");
}

/// The tensors of a run against each other.
class Checker {
public:
  Checker(const KernelInfo &info, std::span<const View> views) : info(info), views(views) {}

  void check() const {
    checkSizes();
    checkSequences();
    checkOverlap();
  }

private:
  const View *find(const char *name) const {
    const int index = info.find(name);
    return index < 0 ? nullptr : &views[index];
  }
  const View &get(const char *name) const { return views[info.find(name)]; }

  /// If there is an argument `name`, its shape must be `expected`.
  void expectShape(const char *name, std::vector<int64_t> expected, const char *meaning,
                   const char *source) const {
    const View *view = find(name);
    if (view && view->shape != expected)
      fail(name, ": expected shape ", shapeToString(expected), " (", meaning, ") to go with ",
           source, ", got ", shapeToString(view->shape));
  }

  void checkSizes() const;
  void checkSequences() const;
  void checkSequenceShapes() const;
  std::vector<int64_t> checkOffsets(const char *name, const char *ofWhat) const;
  void checkPackedBias(const std::vector<int64_t> &q, const std::vector<int64_t> &k) const;
  void checkUsed(const std::vector<int64_t> &offsetsK) const;
  void checkPages() const;
  void checkOverlap() const;

  bool isPacked() const { return find("cu_seqlens_q") != nullptr; }
  /// The keys that a sequence may have; all keys where they are packed.
  int64_t capacity() const;

  const KernelInfo &info;
  std::span<const View> views;
};

int64_t Checker::capacity() const {
  const int64_t rows = get("k").shape[1];
  const View *table = find("page_table");
  if (!table)
    return rows;
  // Kernels for GPUs compare positions in 32 bits.
  const int bits = info.isForGPU() ? 31 : 40;
  const Wide keys = Wide(table->shape[1]) * rows;
  if (keys >= Wide(1) << bits)
    fail("page_table: expected room for fewer than 2^", bits, " keys of a sequence, got ",
         table->shape[1], " pages of ", rows, " keys");
  return static_cast<int64_t>(keys);
}

void Checker::checkSizes() const {
  const std::vector<int64_t> &q = get("q").shape, &k = get("k").shape, &v = get("v").shape;
  const int64_t batch = q[0], queries = q[1], heads = q[2], headsKv = k[2], keys = capacity();
  if (isPacked() && batch != 1)
    fail("q: expected batch 1 for packed sequences, got shape ", shapeToString(q));
  if (const View *table = find("page_table")) {
    expectShape("k", {k[0], k[1], headsKv, q[3]}, "pages, rows of a page, key heads, head dim",
                "q");
    expectShape("v", {k[0], k[1], headsKv, v[3]}, "pages, rows of a page, key heads, value dim",
                "k");
    expectShape("page_table", {batch, table->shape[1]}, "batch, most pages of a sequence", "q");
  } else {
    expectShape("k", {batch, keys, headsKv, q[3]}, "batch, keys, key heads, head dim", "q");
    expectShape("v", {batch, keys, headsKv, v[3]}, "batch, keys, key heads, value dim", "k");
  }
  if (headsKv == 0 ? heads != 0 : heads % headsKv != 0)
    fail("q: expected a number of heads that is a multiple of k's ", headsKv, ", got ", heads);
  expectShape("o", {batch, queries, heads, v[3]}, "batch, queries, heads, value dim", "q and v");
  expectShape("lse", {batch, heads, queries}, "batch, heads, queries", "q");
  expectShape("row_max", {batch, heads, queries}, "batch, heads, queries", "q");
  expectShape("sinks", {heads}, "heads", "q");
  expectShape("alibi", {heads}, "heads", "q");
  if (!isPacked()) {
    expectShape("bias", {batch, heads, queries, keys}, "batch, heads, queries, keys", "q and k");
    expectShape("seqused_k", {batch}, "batch", "q");
  }
  // The standard strategy's workspace holds a score and a probability for each of these.
  if (info.strategy == "standard" &&
      Wide(batch) * heads * queries >= (int64_t(1) << 50) / std::max<int64_t>(keys, 1))
    fail("expected fewer than 2^50 scores for the standard strategy, got batch ", batch, ", ",
         heads, " heads, ", queries, " queries, ", keys, " keys; use the online strategy");
  // A part of the keys keeps m, l, the row max and the accumulator of each row of its tile there.
  if (info.split) {
    const Wide parts = keys / info.split + 1;
    const Wide rowBytes = 4 * (v[3] + 3) * info.tileRows;
    if (Wide(batch) * heads * queries >= (Wide(1) << 62) / rowBytes / parts)
      fail("expected a workspace below 2^62 bytes, got parts of ", info.split, " keys for batch ",
           batch, ", ", heads, " heads, ", queries, " queries, ", keys,
           " keys; use a schedule without split");
  }
}

/// The shapes of what packed sequences come with.
void Checker::checkSequenceShapes() const {
  for (const char *name : {"cu_seqlens_q", "cu_seqlens_k"})
    if (get(name).shape[0] < 1)
      fail(name, ": expected one value more than there are sequences, got none");
  const int64_t count = get("cu_seqlens_q").shape[0];
  if (get("cu_seqlens_k").shape[0] != count)
    fail("cu_seqlens_k: expected ", count, " values, as in cu_seqlens_q, got ",
         get("cu_seqlens_k").shape[0]);
  expectShape("seqused_k", {count - 1}, "sequences", "cu_seqlens_q");
  const View *bias = find("bias");
  if (bias && (bias->shape[0] != count - 1 || bias->shape[1] != get("q").shape[2]))
    fail("bias: expected ", count - 1, " sequences and ", get("q").shape[2],
         " heads to go with cu_seqlens_q and q, got shape ", shapeToString(bias->shape));
}

void Checker::checkSequences() const {
  if (isPacked())
    checkSequenceShapes();
  if (info.isForGPU())
    return; // the values are the device's
  if (!isPacked()) {
    if (find("seqused_k"))
      checkUsed(std::vector<int64_t>());
    if (find("page_table"))
      checkPages();
    return;
  }
  const std::vector<int64_t> offsetsQ = checkOffsets("cu_seqlens_q", "q");
  const std::vector<int64_t> offsetsK = checkOffsets("cu_seqlens_k", "k");
  if (find("seqused_k"))
    checkUsed(offsetsK);
  if (find("bias"))
    checkPackedBias(offsetsQ, offsetsK);
}

/// The values of cu_seqlens_q or cu_seqlens_k: 0, rising, the total length of q or k.
std::vector<int64_t> Checker::checkOffsets(const char *name, const char *ofWhat) const {
  const View &view = get(name);
  const int64_t count = view.shape[0], total = get(ofWhat).shape[1];
  std::vector<int64_t> offsets(count);
  for (int64_t n = 0; n < count; ++n) {
    offsets[n] = view.integerAt(n);
    if (n == 0 && offsets[0] != 0)
      fail(name, ": expected 0 as the first value, got ", offsets[0]);
    if (n > 0 && offsets[n] < offsets[n - 1])
      fail(name, ": expected values that never fall, got ", offsets[n], " after ", offsets[n - 1],
           " at index ", n);
  }
  if (offsets.back() != total)
    fail(name, ": expected the last value to be ", ofWhat, "'s total length ", total, ", got ",
         offsets.back());
  return offsets;
}

/// seqused_k against the lengths of the keys: k's extent, or from `offsetsK` when packed.
void Checker::checkUsed(const std::vector<int64_t> &offsetsK) const {
  const View &used = get("seqused_k");
  for (int64_t b = 0; b < used.shape[0]; ++b) {
    const int64_t value = used.integerAt(b);
    const int64_t length = offsetsK.empty() ? capacity() : offsetsK[b + 1] - offsetsK[b];
    if (value < 0 || value > length)
      fail("seqused_k: expected 0 to ", length, " (the keys there are), got ", value, " at index ",
           b);
  }
}

/// The entries of page_table that the keys in use need.
void Checker::checkPages() const {
  const View &table = get("page_table"), &used = get("seqused_k");
  const int64_t pages = get("k").shape[0], rows = get("k").shape[1];
  for (int64_t b = 0; b < used.shape[0]; ++b)
    for (int64_t n = 0; n * rows < used.integerAt(b); ++n)
      if (const int64_t page = table.integerAt(b, n); page < 0 || page >= pages)
        fail("page_table: expected pages from 0 to ", pages - 1,
             " (of k) where keys are in use, got ", page, " at index [", b, ", ", n, "]");
}

void Checker::checkPackedBias(const std::vector<int64_t> &q, const std::vector<int64_t> &k) const {
  const auto longest = [](const std::vector<int64_t> &offsets) {
    int64_t length = 0;
    for (size_t n = 1; n < offsets.size(); ++n)
      length = std::max(length, offsets[n] - offsets[n - 1]);
    return length;
  };
  const std::vector<int64_t> &shape = get("bias").shape;
  const int64_t sequences = static_cast<int64_t>(q.size()) - 1, heads = get("q").shape[2];
  if (shape[0] != sequences || shape[1] != heads || shape[2] < longest(q) || shape[3] < longest(k))
    fail("bias: expected shape ",
         shapeToString(std::vector{sequences, heads, longest(q), longest(k)}),
         " (sequences, heads, at least the longest queries, at least the longest keys), got ",
         shapeToString(shape));
}

void Checker::checkOverlap() const {
  for (const View &output : views) {
    if (!output.argument->isOutput)
      continue;
    if (mayOverlapItself(output.strided()))
      fail(output.argument->name, ": expected every element at an address of its own, got shape ",
           shapeToString(output.shape), " with strides ", shapeToString(output.strides),
           "; an output cannot be broadcast");
    for (const View &other : views)
      if (&other != &output && mayOverlap(output.strided(), other.strided()))
        fail(output.argument->name, ": expected memory of its own, got memory shared with ",
             other.argument->name, "; give the output a buffer of its own");
  }
}

} // namespace

std::optional<DType> fromDLPack(DLDataType type) {
  if (type.lanes != 1)
    return std::nullopt;
  const auto is = [&](int code, int bits) { return type.code == code && type.bits == bits; };
  for (DType known : {DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::F16,
                      DType::BF16, DType::F32, DType::F64}) {
    const DLDataType candidate = toDLPack(known);
    if (is(candidate.code, candidate.bits))
      return known;
  }
  return is(dlBool, 8) ? std::optional(DType::Bool) : std::nullopt;
}

DLDataType toDLPack(DType type) {
  uint8_t code = kDLFloat;
  switch (type) {
  case DType::Bool:
  case DType::U8:
    code = kDLUInt;
    break;
  case DType::I8:
  case DType::I16:
  case DType::I32:
  case DType::I64:
    code = kDLInt;
    break;
  case DType::BF16:
    code = kDLBfloat;
    break;
  case DType::F16:
  case DType::F32:
  case DType::F64:
    break;
  }
  return {code, static_cast<uint8_t>(8 * sizeOf(type)), 1};
}

Binding::Binding(const KernelInfo &info, std::span<const DLTensor *const> tensors) {
  if (tensors.size() != info.arguments.size()) {
    std::string names;
    for (const KernelArgument &argument : info.arguments)
      names += concat(names.empty() ? "" : ", ", argument.name);
    fail("expected ", info.arguments.size(), " tensors (", names, "), got ", tensors.size());
  }
  std::vector<View> views;
  views.reserve(tensors.size());
  size_t wordCount = 0;
  for (size_t n = 0; n < tensors.size(); ++n) {
    views.emplace_back(info, info.arguments[n], tensors[n]);
    wordCount += 3 + 2 * views[n].shape.size();
  }
  if (info.isForGPU())
    ordinal = findDevice(info, tensors);
  Checker(info, views).check();

  words.reserve(wordCount);
  for (const View &view : views) {
    pointers.push_back(words.data() + words.size());
    const int64_t address = static_cast<int64_t>(reinterpret_cast<intptr_t>(view.data));
    words.insert(words.end(), {address, address, 0});
    words.insert(words.end(), view.shape.begin(), view.shape.end());
    words.insert(words.end(), view.strides.begin(), view.strides.end());
  }
  if (!info.isForGPU())
    return;
  for (size_t n = 0; n < views.size(); ++n) {
    const size_t rank = views[n].shape.size();
    const auto *extents = static_cast<const int64_t *>(pointers[n]) + 3;
    forDevice.push_back({info.arguments[n].name,
                         memoryKind(info.arguments[n].name, *tensors[n]),
                         views[n].data,
                         {extents, rank},
                         {extents + rank, rank}});
  }
}

std::vector<std::span<const int64_t>> Binding::shapes() const {
  std::vector<std::span<const int64_t>> result;
  for (const cuda::DeviceArgument &argument : forDevice)
    result.push_back(argument.shape);
  return result;
}

} // namespace flashc
