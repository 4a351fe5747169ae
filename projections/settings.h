#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "events/connection.h"
#include "events/domain.h"
#include "events/types.h"

namespace writ {

/// Every settings record is one stream: this and the record's storage key.
inline constexpr std::string_view kSettingsStreamPrefix = "settings/";
inline constexpr char kSettingsCreated[] = "settings.created";  // frozen
inline constexpr char kSettingsUpdated[] = "settings.updated";  // frozen

/// The fold of settings events into the table `settings`: the newest event of a stream is its row.
InlineProjection settings_projection();
/// Its part that makes the rows, up to FROM; see FoldedModel.
std::string settings_rows_sql();

/// What one scope stores now.
struct SettingsRow {
  std::string key;   ///< Storage key.
  std::string data;  ///< The stored settings as JSON text.
  std::int64_t version;
};

/// Prepares on `connection` what the functions below run. Once a connection.
void prepare_settings_queries(Connection& connection);

/// The rows of `keys` in one query, in no order; a key without a record has none.
std::vector<SettingsRow> fetch_settings(Connection& connection,
                                        const std::vector<std::string>& keys);

/// The same rows, and the head of the log that they are of.
struct SettingsAtHead {
  std::vector<SettingsRow> rows;
  Position head;
};
SettingsAtHead fetch_settings_at_head(Connection& connection, const std::vector<std::string>& keys);

}  // namespace writ
