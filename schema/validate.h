#pragma once

#include <string>
#include <vector>

#include "flyteidl2/settings/settings_definition.pb.h"

namespace writ {

/// One broken rule: the path of what breaks it and the whole message for people.
struct Violation {
  std::string path;
  std::string message;

  friend bool operator==(const Violation&, const Violation&) = default;
};

/// Checks that a key is there, that a project has a domain, and that each segment is well-formed,
/// in this order. Returns every violation; the first is the one to show. `key` may be null
/// (absent).
std::vector<Violation> validate_key(const flyteidl2::settings::SettingsKey* key);

/// Checks the settings of a write, before pruning. Returns every violation in the order of the
/// checks, within a check in field-number order; the first is the one to show:
/// strings with U+0000 anywhere, settings absent (null), unknown states, integers, quantities,
/// accelerators, negative quantities, min above max, syntax of map keys and values, syntax of
/// texts, sizes of maps, size of the record.
///
/// What is allowed is said by the options of the fields (writ/schema/v1/rules.proto). A leaf is
/// checked only when its state is VALUE; U+0000 is refused everywhere.
std::vector<Violation> validate_settings(const flyteidl2::settings::Settings* settings);

}  // namespace writ
