#pragma once

#include <google/protobuf/message.h>

#include <optional>
#include <string>
#include <vector>

#include "flyteidl2/settings/settings_definition.pb.h"
#include "schema/leaf.h"

namespace writ::client {

/// One setting that there is, found by walking the descriptor.
struct Setting {
  std::string path;  ///< Dotted field names, e.g. `task_resource.min.cpu`.
  std::vector<const google::protobuf::FieldDescriptor*> steps;
  LeafShape shape;

  /// The help text, "" when it has none.
  std::string description() const;
  /// The leaf in these settings; null when it or a group above it is absent.
  const google::protobuf::Message* find_in(const flyteidl2::settings::Settings& settings) const;
  /// The leaf, made where it is absent.
  google::protobuf::Message* make_in(flyteidl2::settings::Settings* settings) const;
  /// Takes the leaf away.
  void clear_in(flyteidl2::settings::Settings* settings) const;
  /// INHERIT when it is absent.
  flyteidl2::settings::SettingState state_in(const flyteidl2::settings::Settings& settings) const;
  /// A map's entries; null when it has no value or is no map.
  const flyteidl2::settings::StringMap* map_in(const flyteidl2::settings::Settings& settings) const;
};

/// All of them, in the order of the fields.
const std::vector<Setting>& all_settings();

/// The setting of exactly this path; null when there is none.
const Setting* find_setting(const std::string& path);

/// What a path on a command line names: a setting, or one entry of a map, given as `labels.team` or
/// as the history writes it, `labels["team"]`.
struct Place {
  const Setting* setting;
  std::optional<std::string> entry;

  std::string path() const;
};

/// Throws UsageError for a path that names nothing, with the nearest ones, and for one that names a
/// group, with what is in it.
Place find_place(const std::string& path);

/// The paths that `path` may have been meant as, nearest first, at most three.
std::vector<std::string> near_paths(const std::string& path);

/// `there is no setting "…" (did you mean …?)`.
std::string no_such_setting(const std::string& path);

}  // namespace writ::client
