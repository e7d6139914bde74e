//===- Status.h - errors that carry a flashc_status -*- C++ -*-===//
//
// Part of flashc, under the Apache License v2.0 with LLVM Exceptions.
//
// A plain Error means that an input is not acceptable (FLASHC_ERROR_INVALID);
// StatusError says where it is something else.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_API_STATUS_H
#define FLASHC_RUNTIME_API_STATUS_H

#include "runtime/API/flashc.h"
#include "runtime/Support/Error.h"

namespace flashc {

class StatusError : public Error {
public:
  StatusError(flashc_status status, const std::string &message) : Error(message), status(status) {}

  const flashc_status status; ///< one of FLASHC_ERROR_*
};

} // namespace flashc

#endif // FLASHC_RUNTIME_API_STATUS_H
