#include "projections/parsed_rows.h"

#include "schema/protojson.h"

namespace writ {
namespace {

constexpr std::size_t kBytesPerByte = 4;  // of text: that and the messages
constexpr std::size_t kBytesPerRow = 1024;

/// A row of our own table. One that cannot be read is a broken table, not a bad request.
std::shared_ptr<const StoredSettings> parsed(const SettingsRow& row) {
  auto stored = std::make_shared<StoredSettings>();
  const JsonRead read = read_json(row.data, &stored->settings, JsonMode::kStored);
  if (read.error)
    throw CorruptLog("the settings row " + row.key + " cannot be read: " + read.error->message());
  stored->version = row.version;
  // Looks at every field: what reading left to do in its maps is done before others look at them
  // too.
  (void)stored->settings.ByteSizeLong();
  return stored;
}

}  // namespace

std::shared_ptr<const StoredSettings> ParsedRows::parse(const SettingsRow& row) {
  {
    const std::scoped_lock lock(mutex_);
    const Parsed* const kept = kept_.find(row.key);
    if (kept != nullptr && kept->stored->version == row.version && kept->text == row.data)
      return kept->stored;
  }
  std::shared_ptr<const StoredSettings> stored = parsed(row);
  const std::scoped_lock lock(mutex_);
  kept_.keep(row.key, {row.data, stored}, kBytesPerRow + row.data.size() * kBytesPerByte);
  return stored;
}

}  // namespace writ
