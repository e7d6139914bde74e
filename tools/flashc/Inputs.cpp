//===- Inputs.cpp - what to compute and on what ---------------------------===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
//===----------------------------------------------------------------------===//
#include "tools/flashc/Inputs.h"

#include "compiler/Target/ScheduleTable.h"
#include "runtime/IO/Convert.h"
#include "tools/flashc/ArraySources.h"
#include "tools/flashc/AttentionFlags.h"
#include "tools/flashc/RandomNormal.h"
#include "tools/flashc/Shapes.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <unistd.h>

namespace flashc::tool {
namespace {

/// The streams of random numbers, by array. They never change: seeds must keep their meaning.
enum Stream : uint64_t { Q = 1, K, V, Bias, Sinks, UsedK, Pages };

/// One loading of all inputs, step by step.
class Loader {
public:
  Loader(const Arguments &arguments, Need need)
      : arguments(arguments), need(need), sources(arguments) {}

  Inputs load() {
    seed = arguments.integer("seed", 0, std::numeric_limits<int64_t>::max(), 0);
    readLayout();
    for (const AttentionField &field : attentionFields())
      if (const auto text = arguments.find(field.key); text && isPlainField(field.key))
        setField(field, *text);
    if (const DType type = result.desc.dtype;
        type != DType::F32 && type != DType::BF16 && type != DType::F16)
      throw UsageError(concat("--dtype: expected f32, bf16 or f16, got ", nameOf(type)));
    result.desc.wantLse = arguments.has("lse");
    result.desc.wantRowMax = arguments.has("row-max");
    loadSequences();
    loadPageTable();
    loadMain();
    loadAlibiAndSinks();
    loadBias();
    loadCaptures();
    noteUnused();
    expectQueries();
    result.desc.validate();
    return std::move(result);
  }

private:
  void readLayout();
  void expectQueries();
  void setField(const AttentionField &field, const std::string &text);
  void loadSequences();
  void makeSequences(const char *name, DType type, int64_t length);
  void loadPageTable();
  void makePageTable();
  void loadUsed();
  void loadMain();
  void loadMainFiles();
  void makeMain();
  void setDims();
  void roundMain();
  void loadAlibiAndSinks();
  void loadBias();
  void loadCaptures();
  void noteUnused();

  HostArray make(DType type, std::vector<int64_t> shape);
  HostArray toFloat32(const std::string &name, HostArray array);
  void requireRandom(const std::string &flag) const;
  const HostArray &put(const std::string &name, HostArray array) {
    return result.arrays[name] = std::move(array);
  }

  const Arguments &arguments;
  const Need need;
  ArraySources sources;
  uint64_t seed = 0;
  std::optional<RandomSizes> random;
  bool packed = false;
  int64_t sequences = 0;
  int64_t pageRows = 0; // of --random's pages
  Inputs result;
};

void Loader::readLayout() {
  const std::string layout = arguments.find("layout").value_or("bshd");
  if (layout != "bshd" && layout != "bhsd")
    throw UsageError(concat("--layout: expected bshd or bhsd, got '", layout, "'"));
  result.bhsd = layout == "bhsd";
  if (const std::optional<std::string> text = arguments.find("random"))
    random = parseRandomSizes(*text);
}

void Loader::setField(const AttentionField &field, const std::string &text) {
  try {
    field.set(result.desc, text);
  } catch (const Error &error) {
    throw UsageError(std::string("--") + error.what());
  }
}

/// An array of a shape: with memory where values are needed, else a shape only.
HostArray Loader::make(DType type, std::vector<int64_t> shape) {
  if (!countBytes(type, shape))
    fail("--random: expected arrays of less than 2^63 bytes, got shape ", shapeToString(shape));
  if (need != Need::Data)
    return {type, std::move(shape), {}};
  checkMemory(static_cast<double>(*countBytes(type, shape)),
              "a random array " + shapeToString(shape));
  return HostArray::zeros(type, std::move(shape));
}

void Loader::requireRandom(const std::string &flag) const {
  if (!random && need != Need::Types)
    fail("--", flag, ": expected a file, got a type; a type needs --random for the sizes");
}

HostArray Loader::toFloat32(const std::string &name, HostArray array) {
  if (!isFloat(array.dtype))
    fail(name, ": expected a float type, got ", nameOf(array.dtype));
  return convert(array, DType::F32);
}

void Loader::loadSequences() {
  auto q = sources.find("cu-seqlens-q", "cu_seqlens_q");
  auto k = sources.find("cu-seqlens-k", "cu_seqlens_k");
  if (!q && !k) // self-attention's lengths under one name
    if (std::optional<HostArray> both = sources.findInInputs("cu_seqlens"))
      q = k = std::move(*both);
  if (q.has_value() != k.has_value())
    fail("expected --cu-seqlens-q and --cu-seqlens-k together, got ",
         q ? "the first" : "the second", " alone; give both");
  packed = q.has_value();
  if (!packed)
    return;
  if (result.bhsd)
    fail("expected --layout bshd with packed sequences, which are [total, heads, dim], got bhsd");
  DType type = DType::I32;
  for (auto *source : {&*q, &*k}) {
    const DType own = std::holds_alternative<DType>(*source) ? std::get<DType>(*source)
                                                             : std::get<HostArray>(*source).dtype;
    if (isFloat(own) || own == DType::Bool)
      fail(source == &*q ? "cu_seqlens_q" : "cu_seqlens_k", ": expected an integer type, got ",
           nameOf(own));
    if (own == DType::I64)
      type = DType::I64;
  }
  result.desc.packed = type;
  const auto take = [&](const char *name, const char *flag, ArraySource &source, int64_t length) {
    if (std::holds_alternative<DType>(source)) {
      requireRandom(flag);
      if (random)
        makeSequences(name, type, length);
      return;
    }
    const HostArray &array = put(name, convert(std::get<HostArray>(source), type));
    if (array.rank() != 1 || array.numElements() < 1)
      fail(name, ": expected shape [sequences + 1], got ", shapeToString(array.shape));
  };
  take("cu_seqlens_q", "cu-seqlens-q", *q, random ? random->queries : 0);
  take("cu_seqlens_k", "cu-seqlens-k", *k, random ? random->keys : 0);
  const HostArray *cuQ = result.find("cu_seqlens_q"), *cuK = result.find("cu_seqlens_k");
  if (cuQ && cuK && cuQ->numElements() != cuK->numElements())
    fail("cu_seqlens_k: expected ", cuQ->numElements(), " values as in cu_seqlens_q, got ",
         cuK->numElements());
  sequences = cuQ ? cuQ->numElements() - 1 : 0;
}

/// `--random`'s B sequences of equal length.
void Loader::makeSequences(const char *name, DType type, int64_t length) {
  constexpr int64_t most = int64_t(1) << 24;
  if (random->batch > most)
    fail("--random: expected at most ", most, " sequences, got ", random->batch);
  shapeOf(name == std::string_view("cu_seqlens_q") ? "q" : "k", *random, false, true);
  HostArray array = HostArray::zeros(type, {random->batch + 1});
  if (type == DType::I32 && random->batch * length > std::numeric_limits<int32_t>::max())
    fail(name, ": expected a total length below 2^31 for i32, got ", random->batch * length,
         "; use i64");
  for (int64_t b = 0; b <= random->batch; ++b)
    array.setInt(b, b * length);
  put(name, std::move(array));
}

void Loader::loadPageTable() {
  std::optional<ArraySource> source = sources.find("page-table", "page_table");
  if (arguments.has("page-size") && !(source && random && std::holds_alternative<DType>(*source)))
    fail(
        "--page-size: expected --random and --page-table with a type, for pages to make, got none; "
        "pages in files have the size of k's rows");
  if (!source)
    return;
  if (packed)
    fail("expected either --page-table or --cu-seqlens-q and --cu-seqlens-k, got both");
  if (HostArray *array = std::get_if<HostArray>(&*source)) {
    if (isFloat(array->dtype) || array->dtype == DType::Bool)
      fail("page_table: expected an integer type, got ", nameOf(array->dtype));
    const DType type = array->dtype == DType::I64 ? DType::I64 : DType::I32;
    result.desc.pageTable = type;
    put("page_table", convert(*array, type));
    return;
  }
  requireRandom("page-table");
  result.desc.pageTable = std::get<DType>(*source);
  if (random)
    makePageTable();
}

/// Pages for all of --random's keys, in an order of their own for each seed.
void Loader::makePageTable() {
  constexpr int64_t most = int64_t(1) << 24;
  pageRows = arguments.integer("page-size", 1, int64_t(1) << 40, 16);
  const int64_t pages = shapeOf("k", *random, false, false, pageRows)[0];
  if (pages > most)
    fail("--random: expected at most ", most, " pages, got ", pages,
         "; choose a larger --page-size");
  const int64_t columns = random->keys / pageRows + (random->keys % pageRows != 0);
  HostArray table = HostArray::zeros(*result.desc.pageTable, {random->batch, columns});
  HostArray draws = HostArray::zeros(DType::I64, {pages});
  fillUniform(draws, (int64_t(1) << 40) - 1, seed, Pages);
  std::vector<int64_t> order(pages);
  std::iota(order.begin(), order.end(), 0);
  for (int64_t n = pages; n-- > 1;)
    std::swap(order[n], order[draws.intAt(n) % (n + 1)]);
  for (int64_t n = 0; n < pages; ++n)
    table.setInt(n, order[n]);
  put("page_table", std::move(table));
}

void Loader::loadMain() {
  if (random) {
    for (const char *flag : {"q", "k", "v"})
      if (arguments.has(flag) || sources.findInInputs(flag))
        fail("expected either --random or --", flag, ", got both; leave one out");
    makeMain();
  } else {
    loadMainFiles();
  }
  if (result.find("q")) {
    if (!packed)
      sequences = result.find("q")->shape.empty() ? 0 : result.find("q")->shape[0];
    result.sizes = checkShapes(result, packed, sequences);
    if (packed && need != Need::Types)
      sequenceLengths(result);
    setDims();
    roundMain();
  }
  loadUsed();
}

void Loader::makeMain() {
  constexpr int64_t maxDim = 576;
  for (const int64_t dim : {random->dim, random->valueDim})
    if (dim < 1 || dim > maxDim)
      throw UsageError(concat("--random: expected D and Dv from 1 to ", maxDim, ", got ", dim));
  // f32 unless --dtype has said otherwise.
  const DType type = result.desc.dtype;
  double bytes = 0;
  for (const char *name : {"q", "k", "v"}) {
    const auto count = countBytes(type, shapeOf(name, *random, result.bhsd, packed, pageRows));
    bytes += count ? static_cast<double>(*count) : HUGE_VAL;
  }
  if (need == Need::Data)
    checkMemory(bytes, "--random");
  const std::pair<const char *, uint64_t> streams[] = {{"q", Q}, {"k", K}, {"v", V}};
  for (const auto &[name, stream] : streams) {
    HostArray array = make(type, shapeOf(name, *random, result.bhsd, packed, pageRows));
    if (need == Need::Data)
      fillNormal(array, seed, stream);
    put(name, std::move(array));
  }
}

void Loader::loadMainFiles() {
  std::string missing;
  int found = 0;
  for (const char *name : {"q", "k", "v"}) {
    std::optional<ArraySource> source = sources.find(name, name);
    if (!source) {
      missing += std::string(missing.empty() ? "--" : ", --") + name;
      continue;
    }
    if (std::holds_alternative<DType>(*source))
      fail("--", name, ": expected a file, got a type; --random makes inputs");
    put(name, std::move(std::get<HostArray>(*source)));
    ++found;
  }
  if (found == 3)
    return;
  if (found == 0 && need == Need::Types && result.desc.headDim != 0)
    return;
  if (found == 0)
    fail("expected inputs, got none; give --q, --k and --v, --inputs, or --random",
         need == Need::Types ? ", or --head-dim alone" : "");
  fail("expected q, k and v, got no ", missing, "; give all three, or --random");
}

/// A few queries want the schedule for decoding, and many heads of a group its larger tiles, unless the user has chosen.
void Loader::expectQueries() {
  if (!result.sizes || arguments.has("schedule"))
    return;
  const auto &sizes = *result.sizes;
  if (!arguments.has("queries") && isDecoding(sizes.queries) && !result.desc.packed)
    result.desc.queries = sizes.queries;
  if (isDecoding(result.desc.queries) && !arguments.has("group-size") && sizes.headsKv > 0 &&
      sizes.heads / sizes.headsKv > kFewGroupRows)
    result.desc.groupSize = sizes.heads / sizes.headsKv;
}

/// D and Dv of the arrays, against --head-dim and --value-dim.
void Loader::setDims() {
  const auto set = [&](const char *flag, int64_t &field, const char *array) {
    const int64_t dim = result.find(array)->shape.back();
    if (arguments.has(flag) && field != 0 && field != dim)
      fail("--", flag, ": expected ", dim, ", the last extent of ", array, ", got ", field,
           "; leave the flag out");
    field = dim;
  };
  set("head-dim", result.desc.headDim, "q");
  set("value-dim", result.desc.valueDim, "v");
}

/// q, k and v in the type of the description, which by default is theirs.
void Loader::roundMain() {
  const DType own = result.find("q")->dtype;
  for (const char *name : {"q", "k", "v"}) {
    const DType type = result.find(name)->dtype;
    if (!isFloat(type))
      fail(name, ": expected a float type, got ", nameOf(type), "; convert the array");
    if (!arguments.has("dtype") && type != own)
      fail(name, ": expected ", nameOf(own), " as q has, got ", nameOf(type),
           "; --dtype rounds all three to one type");
  }
  if (!arguments.has("dtype")) {
    result.desc.dtype = own == DType::F64 ? DType::F32 : own;
    if (own == DType::F64)
      result.notes.push_back("q, k and v are f64 and were rounded to f32; --dtype says otherwise");
  }
  if (random)
    return;
  for (const char *name : {"q", "k", "v"}) {
    HostArray &array = result.arrays[name];
    if (array.dtype != result.desc.dtype && isFloat(result.desc.dtype))
      array = convert(array, result.desc.dtype);
  }
}

void Loader::loadUsed() {
  std::optional<ArraySource> source = sources.find("seqused-k", "seqused_k");
  if (!source && result.desc.pageTable)
    fail("expected --seqused-k, the number of keys of each sequence, with --page-table, got none");
  if (!source)
    return;
  if (HostArray *array = std::get_if<HostArray>(&*source)) {
    if (isFloat(array->dtype) || array->dtype == DType::Bool)
      fail("seqused_k: expected an integer type, got ", nameOf(array->dtype));
    const DType type = array->dtype == DType::I64 ? DType::I64 : DType::I32;
    result.desc.sequsedK = type;
    put("seqused_k", convert(*array, type));
    if (result.sizes)
      checkVector("seqused_k", result.find("seqused_k")->shape, result.sizes->batch,
                  packed ? "sequences" : "batch");
  } else {
    requireRandom("seqused-k");
    result.desc.sequsedK = std::get<DType>(*source);
    if (result.sizes) {
      constexpr int64_t most = int64_t(1) << 24;
      if (result.sizes->batch > most)
        fail("--random: expected at most ", most, " lengths, got ", result.sizes->batch);
      HostArray lengths = HostArray::zeros(*result.desc.sequsedK, {result.sizes->batch});
      fillUniform(lengths, random->keys, seed, UsedK);
      put("seqused_k", std::move(lengths));
    }
  }
  if (need != Need::Types)
    sequenceLengths(result);
}

void Loader::loadAlibiAndSinks() {
  for (const std::string name : {"alibi", "sinks"}) {
    std::optional<ArraySource> source = sources.find(name, name);
    if (!source)
      continue;
    (name == "alibi" ? result.desc.alibi : result.desc.sinks) = true;
    if (HostArray *array = std::get_if<HostArray>(&*source)) {
      put(name, toFloat32(name, std::move(*array)));
      if (result.sizes)
        checkVector(name, result.find(name)->shape, result.sizes->heads, "query heads");
      continue;
    }
    requireRandom(name);
    if (!isFloat(std::get<DType>(*source)))
      fail("--", name, ": expected a file or a float type, got ", nameOf(std::get<DType>(*source)));
    if (!result.sizes)
      continue;
    HostArray array = make(DType::F32, {result.sizes->heads});
    if (need == Need::Data && name == "sinks")
      fillNormal(array, seed, Sinks);
    for (int64_t h = 0; need == Need::Data && name == "alibi" && h < array.shape[0]; ++h)
      array.set(h,
                std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(array.shape[0])));
    put(name, std::move(array));
  }
}

void Loader::loadBias() {
  std::optional<ArraySource> source = sources.find("bias", "bias");
  if (!source)
    return;
  const bool made = std::holds_alternative<DType>(*source);
  const DType own = made ? std::get<DType>(*source) : std::get<HostArray>(*source).dtype;
  if (!isFloat(own))
    fail("bias: expected a float type, got ", nameOf(own), "; for a mask of 0 and 1 use --mask");
  const DType type = own == DType::F64 ? DType::F32 : own;
  result.desc.bias = type;
  if (made) {
    requireRandom("bias");
    if (!result.sizes)
      return;
    HostArray array = make(type, biasTarget(result));
    if (need == Need::Data)
      fillNormal(array, seed, Bias);
    put("bias", std::move(array));
    return;
  }
  put("bias", own == type ? std::move(std::get<HostArray>(*source))
                          : convert(std::get<HostArray>(*source), type));
  const bool areKeysKnown = !packed && (!result.desc.pageTable || result.find("page_table"));
  if (result.sizes && (areKeysKnown || need != Need::Types))
    checkBias(result.find("bias")->shape, biasTarget(result), packed);
}

void Loader::loadCaptures() {
  for (CaptureSource &capture : sources.captures()) {
    if (const CaptureType *type = std::get_if<CaptureType>(&capture.source)) {
      if (need == Need::Data)
        fail("--capture: expected a file for '", capture.name,
             "', got a type; its values are needed");
      result.desc.captures.push_back({capture.name, type->dtype, type->rank});
      continue;
    }
    HostArray &array = std::get<HostArray>(capture.source);
    const DType type = array.dtype == DType::F64  ? DType::F32
                       : array.dtype == DType::U8 ? DType::I16
                                                  : array.dtype;
    result.desc.captures.push_back({capture.name, type, static_cast<int>(array.rank())});
    // The name is checked by validate, before it can stand for another argument.
    if (!isReservedName(capture.name))
      put(capture.name, type == array.dtype ? std::move(array) : convert(array, type));
  }
}

void Loader::noteUnused() {
  std::string names;
  for (const std::string &name : sources.unused())
    names += (names.empty() ? "" : ", ") + name;
  if (!names.empty())
    result.notes.push_back("not used of --inputs: " + names +
                           "; --capture NAME hands an array to the expressions");
}

} // namespace

const HostArray *Inputs::find(std::string_view name) const {
  const auto found = arrays.find(name);
  return found == arrays.end() ? nullptr : &found->second;
}

Inputs loadInputs(const Arguments &arguments, Need need) { return Loader(arguments, need).load(); }

std::string describeBytes(double bytes) {
  const char *units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit)
    bytes /= 1024;
  char text[64];
  std::snprintf(text, sizeof(text), unit ? "%.3g %s" : "%.0f %s", bytes, units[unit]);
  return text;
}

void checkMemory(double bytes, const std::string &what) {
  const double machine =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  if (!(bytes <= machine))
    fail(what, ": expected arrays that fit in this machine's ", describeBytes(machine),
         " of memory, got ", std::isinf(bytes) ? "more than can be counted" : describeBytes(bytes),
         "; choose smaller sizes");
}

} // namespace flashc::tool
