//===- MaskFixture.h - masks, solved and by brute force ---------*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// One mask expression with captured arrays, as a region with its key ranges emitted and
// interpreted, and as the reference evaluates it query by query.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHC_TEST_UNIT_FLASH_MASKFIXTURE_H
#define FLASHC_TEST_UNIT_FLASH_MASKFIXTURE_H

#include "dialects/Flash/Transforms/KeyRanges.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/Reference/ExprEvaluator.h"
#include "test/Support/RandomExpr.h"

#include <optional>

namespace flashc::test {

/// The context with all dialects that masks need.
mlir::MLIRContext &maskContext();

/// A box of queries with the lengths of its sequence.
struct BoxSizes {
  int64_t b = 0, h = 0, i0 = 0, iEnd = 1, sq = 1, sk = 1;
};

struct Borders {
  int64_t maybeBegin = 0, maybeEnd = 0, fullBegin = 0, fullEnd = 0;
  bool operator==(const Borders &) const = default;
};
std::ostream &operator<<(std::ostream &os, const Borders &borders);

class MaskFixture {
public:
  explicit MaskFixture(const std::string &text, std::vector<RandomExpr::Capture> captures = {});
  ~MaskFixture();

  mlir::Region &mask() { return holder->getBodyRegion(); }
  /// What the analysis says of itself.
  const flash::KeyRanges &ranges() const { return emitted; }
  /// The emitted code, interpreted.
  Borders solve(const BoxSizes &box) const;
  /// The code emitted for constants, or nothing where it did not fold.
  std::optional<Borders> fold(const BoxSizes &box);
  /// The hull of what some query keeps, and what all keep: the hull of it, and whether it has gaps.
  Borders bruteForce(const BoxSizes &box, bool *hasGap = nullptr) const;
  /// Keys that some and that all queries keep.
  void keys(const BoxSizes &box, std::vector<uint8_t> &some, std::vector<uint8_t> &all,
            bool *hasEmptyRow = nullptr) const;

private:
  int64_t read(flash::ReadOp op, const llvm::DenseMap<mlir::Value, int64_t> &values) const;

  std::vector<RandomExpr::Capture> captures;
  std::optional<reference::ExprEvaluator<double>> evaluator;
  mlir::OwningOpRef<mlir::ModuleOp> holder; ///< its region is the mask
  mutable mlir::Block code;                 ///< b, h, i0, iEnd, sq, sk, captures
  flash::KeyRanges emitted;
};

} // namespace flashc::test

#endif // FLASHC_TEST_UNIT_FLASH_MASKFIXTURE_H
