#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "flyteidl2/settings/settings_definition.pb.h"
#include "projections/bounded_cache.h"
#include "projections/settings.h"

namespace writ {

/// What one scope stores, read and ready to merge.
struct StoredSettings {
  flyteidl2::settings::Settings settings;
  std::int64_t version;
};

/// Reads rows, and does not read a row again while it stays as it is. It goes by what the query
/// returned: as long as the key, the version and every byte of the text are the same, so is the
/// answer, the very same object; no change can be missed, whoever made it. Thread-safe.
class ParsedRows {
 public:
  /// Keeps about `capacity` bytes of texts and what was read from them.
  explicit ParsedRows(std::size_t capacity = std::size_t{32} << 20) : kept_(capacity) {}

  /// Throws CorruptLog for a row that cannot be read.
  std::shared_ptr<const StoredSettings> parse(const SettingsRow& row);

 private:
  struct Parsed {
    std::string text;
    std::shared_ptr<const StoredSettings> stored;
  };

  std::mutex mutex_;
  BoundedCache<std::string, Parsed> kept_;
};

}  // namespace writ
