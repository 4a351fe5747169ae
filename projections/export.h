#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "events/sha256.h"
#include "events/types.h"
#include "projections/verify.h"

namespace writ {

// The form of an export, one JSON text a line, in this order. It has one spelling only:
//   {"envelope":"…","payload":"…","salt":"<hex>"}     each event; payload and salt are left out
//   once erased
//   {"settings":"<key>","id":N,"version":N,"created_at":"…","updated_at":"…","data":"…"}   each
//   row, by key
//   {"end":{"log":"<hex>","position":N,"root":"<hex>","rows":N}}

/// What was exported.
struct ExportResult {
  Position position;
  Digest root{};
  std::int64_t rows = 0;
};

/// Writes the log and the settings of one moment to `lines`, which gets complete lines and may
/// throw to end it. Reads in one transaction, so that both agree: a rebuild waits with its switch
/// until it is through. Throws StorageUnavailable, StorageError.
ExportResult export_log(const std::string& conninfo,
                        const std::function<void(std::string_view)>& lines,
                        const VerifyProgress& progress);

}  // namespace writ
