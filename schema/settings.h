#pragma once

#include <google/protobuf/message.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "flyteidl2/settings/settings_definition.pb.h"
#include "schema/scope.h"

namespace writ {

/// One leaf of a settings tree: a message with a `state`, one typed value and a `scope_level`.
struct Leaf {
  std::string path;                              ///< Dotted proto names, e.g. `task_resource.min.cpu`.
  const google::protobuf::FieldDescriptor* field;  ///< The field that holds the leaf; carries `desc` and the rules.
  const google::protobuf::Message* message;      ///< The leaf itself, e.g. a QuantitySetting.
};

/// True for the message types that are leaves, told by their fields and not by a list.
bool is_leaf(const google::protobuf::Descriptor& type);

/// Calls `visit` for every leaf present in `settings`, in field-number order.
void for_each_leaf(const google::protobuf::Message& settings,
                   const std::function<void(const Leaf&)>& visit);

/// Brings `settings` into the form that is stored: drops every INHERIT leaf (whatever value it
/// carries), clears `scope_level` and the value of UNSET leaves, drops every message left empty.
void prune(flyteidl2::settings::Settings* settings);

/// One record of a chain: what its scope stores.
struct Level {
  Scope scope;
  const flyteidl2::settings::Settings* settings;
};

/// Merges a chain of stored settings, broadest first, into the effective settings
/// (design/settings.md, "Merging"). A level that stores nothing may be left out.
flyteidl2::settings::Settings merge(const std::vector<Level>& levels);

/// One broken rule: the path of what breaks it and the whole message for people.
struct Violation {
  std::string path;
  std::string message;
  friend bool operator==(const Violation&, const Violation&) = default;
};

/// Checks 1 to 3 of design/settings.md: the key is there and its segments are well-formed.
/// Returns all violations in the order of the checks. `key` may be null (absent).
std::vector<Violation> validate_key(const flyteidl2::settings::SettingsKey* key);

/// Checks 3 (U+0000) to 8 for the settings of a write, all violations in the order of the checks.
/// Driven by the field options of the schema. `settings` may be null (absent). Unpruned input.
std::vector<Violation> validate_settings(const flyteidl2::settings::Settings* settings);

/// The scope that a valid key names.
ScopeKey scope_key(const flyteidl2::settings::SettingsKey& key);

}  // namespace writ
