//===- AttentionDesc.h - what attention computes -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// The typed description of one attention computation, independent of the sizes
// of batches, sequences and heads. One table of fields (key, help, text setter,
// text getter) serves the command-line flags, the C ABI's flashc_attention_set
// and the JSON that travels between runtime and compiler.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_API_ATTENTIONDESC_H
#define FLASHC_RUNTIME_API_ATTENTIONDESC_H

#include "runtime/Support/DType.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flashc {

/// Which diagonal a causal mask keeps: j <= i + o with o = 0 (TopLeft) or Sk - Sq (BottomRight).
enum class Causal { None, TopLeft, BottomRight };

/// Online: the tiled kernel with a running softmax state. Standard: S and P materialised in the
/// workspace (the unfused baseline).
enum class Strategy { Online, Standard };

/// Keeps i + o - left <= j <= i + o + right; -1 means unlimited on that side.
struct Window {
  int64_t left = -1;
  int64_t right = -1;
  bool operator==(const Window &) const = default;
};

/// An array that the score and mask expressions read as `name[i0, ..., i(rank-1)]`.
struct Capture {
  std::string name;
  DType dtype = DType::F32;
  int rank = 1;
  bool operator==(const Capture &) const = default;
};

/// One attention computation. The default of every field means "feature absent".
struct AttentionDesc {
  std::string name = "attention"; ///< kernel's name in dumps and listings; an identifier
  DType dtype = DType::F32;       ///< element type of q, k, v and o: F32, BF16 or F16
  int64_t headDim = 0;            ///< D of q and k, 1..576; required
  int64_t valueDim = 0;           ///< Dv of v and o, 1..576; 0: as headDim (see resolvedValueDim)
  std::optional<double> scale;    ///< factor of q.k; absent: 1/sqrt(D) (see resolvedScale)
  Causal causal = Causal::None;
  std::optional<Window> window;
  std::optional<double> softcap; ///< c > 0 of c*tanh(s/c)
  bool alibi = false;            ///< an argument "alibi": f32 slopes [Hq]
  std::optional<DType> bias;     ///< type (F32, BF16, F16) of the argument "bias" [B,Hq,Sq,Sk]
  bool sinks = false;            ///< an argument "sinks": f32 logits [Hq]
  std::string score;             ///< expression for the new score; "" keeps s
  std::string mask;              ///< expression, true = keep; "" keeps all
  std::vector<Capture> captures; ///< in argument order
  std::optional<DType> packed;   ///< type (I32, I64) of "cu_seqlens_q" and "cu_seqlens_k" [B+1]
  std::optional<DType> sequsedK; ///< type (I32, I64) of the argument "seqused_k" [B]
  /// Type (I32, I64) of the argument "page_table" [B, max_pages]; k and v are [pages, P, Hkv, D] then.
  /// Needs sequsedK.
  std::optional<DType> pageTable;
  bool wantLse = false;    ///< an output "lse" [B,Hq,Sq], f32
  bool wantRowMax = false; ///< an output "row_max" [B,Hq,Sq], f32
  int64_t queries = 0;     ///< expected queries per sequence, a hint for the schedule; 0: many
  int64_t groupSize = 0;   ///< expected heads of q per head of k and v, a hint for decoding; 0: few
  Strategy strategy = Strategy::Online;
  std::string schedule; ///< schedule parameters as text; "": the target's table
  std::string target;   ///< target's name; "" or "cpu": the best for this host

  bool operator==(const AttentionDesc &) const = default;

  /// Dv: valueDim, or headDim where valueDim is 0.
  int64_t resolvedValueDim() const { return valueDim ? valueDim : headDim; }

  /// The factor of q.k: `scale`, or 1/sqrt(headDim).
  double resolvedScale() const;

  /// Throws Error at the first thing that cannot be compiled whatever the target: element types,
  /// dimensions, ranges, names, expressions that do not parse.
  void validate() const;

  /// Sets the field `key` from its text form. Throws Error for an unknown key (listing the known
  /// ones) or a malformed or out-of-range text. Checks between fields are validate's.
  void set(std::string_view key, std::string_view text);

  /// The field `key` in its text form, which `set` reads back to the same value ("" when an
  /// optional field is absent). Throws Error for an unknown key.
  std::string get(std::string_view key) const;

  /// The description as one JSON object, keys sorted: "dtype", "head-dim" and every field that is
  /// not at its default. Equal descriptions give equal text.
  std::string toJson() const;

  /// Reads what toJson writes. Throws Error for malformed JSON, more than 1 MiB, nesting, unknown
  /// or repeated keys and wrong values. Does not call validate.
  static AttentionDesc fromJson(std::string_view json);
};

/// How a field stands in JSON.
enum class FieldKind { Text, Number, Flag, List };

/// One row of the table of fields.
struct AttentionField {
  const char *key;     ///< "head-dim": JSON key, flashc_attention_set key, flag without dashes
  const char *operand; ///< placeholder of the value in help: "L,R"; "" for flags
  const char *help;    ///< one sentence
  FieldKind kind;      ///< List: JSON array of strings, in text form separated by commas
  void (*set)(AttentionDesc &desc, std::string_view text); ///< throws Error
  std::string (*get)(const AttentionDesc &desc);
};

/// All fields, in the order of help texts.
std::span<const AttentionField> attentionFields();

/// The field `key`, or null.
const AttentionField *findAttentionField(std::string_view key);

/// A name of an argument or a capture that is taken already ("q", "lse", "sk", "exp", ...).
bool isReservedName(std::string_view name);

} // namespace flashc

#endif // FLASHC_RUNTIME_API_ATTENTIONDESC_H
