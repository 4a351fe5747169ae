#pragma once

#include <optional>
#include <string>
#include <vector>

#include "events/history.h"
#include "schema/merge.h"
#include "schema/scope.h"
#include "writ/audit/v1/audit.pb.h"

namespace writ {

/// The position that `point` names in the history of the record `key`: a version, a time, a
/// position, or now. Throws ConnectError naming `path`: out_of_range for the future, not_found for
/// a version that is not there.
Position resolve_point(Connection& connection, const audit::v1::Point& point, const ScopeKey& key,
                       const std::string& path);

/// The settings in an event's payload. Throws failed_precondition, saying which event erased it and
/// from where on the record can be asked for, when it was erased; CorruptLog when it is missing.
flyteidl2::settings::Settings stored_settings(Connection& connection, const RecordedEvent& event);

/// What one scope stored at a position.
struct StoredAt {
  ScopeKey key;
  std::optional<RecordedEvent> event;  ///< The newest then; nothing when there was no record.
  flyteidl2::settings::Settings settings;
};

/// The chain of `key` at `position`, broadest first, each scope once. Throws what stored_settings
/// does.
std::vector<StoredAt> chain_at(Connection& connection, const ScopeKey& key, Position position);

/// The record of `key` alone at `position`, whatever became of the scopes above it. Throws what
/// stored_settings does.
StoredAt record_at(Connection& connection, const ScopeKey& key, Position position);

/// What was in effect: the same merge as of the present.
flyteidl2::settings::Settings merge_chain(const std::vector<StoredAt>& chain);

}  // namespace writ
