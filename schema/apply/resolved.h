#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flyteidl2/settings/settings_definition.pb.h"
#include "schema/merge.h"

namespace writ {

/// A setting, or an entry of a map, that has a value, and the scope that says it.
struct SettingSource {
  /// Its path, e.g. `task_resource.max.cpu` or `labels["team"]`. A literal, or refers to a
  /// ResolvedEntry.
  std::string_view setting;
  flyteidl2::settings::ScopeLevel scope_level = flyteidl2::settings::SCOPE_LEVEL_ORG;
};

/// One entry of a map in effect. Refers to the ResolvedSettings it is of.
struct ResolvedEntry {
  const std::string* key;
  const std::string* value;
  flyteidl2::settings::ScopeLevel scope_level;
  std::string place;    ///< The key as a path ends with it: `["team"]`.
  std::string setting;  ///< Its path: `labels["team"]`.

  SettingSource source() const { return {setting, scope_level}; }
};

/// The settings in effect at the end of a chain. Immutable, and stays where it is.
class ResolvedSettings {
 public:
  /// `chain` is broadest first, as for `merge`; it is not needed any more afterwards.
  explicit ResolvedSettings(const std::vector<Level>& chain);
  ResolvedSettings(const ResolvedSettings&) = delete;
  ResolvedSettings& operator=(const ResolvedSettings&) = delete;

  /// Merged: each leaf has its `scope_level`.
  const flyteidl2::settings::Settings& settings() const { return settings_; }

  /// The entries of a map in the order of their keys, none when its state is not VALUE. Each has
  /// the scope that says this entry, while the map's own `scope_level` is that of the last to say
  /// anything.
  using Entries = std::vector<ResolvedEntry>;
  const Entries& labels() const { return labels_; }
  const Entries& annotations() const { return annotations_; }
  const Entries& environment_variables() const { return environment_variables_; }

 private:
  const flyteidl2::settings::Settings settings_;
  const Entries labels_, annotations_, environment_variables_;
};

/// The value of a text setting, null when it has none or the empty one, which says "none" too.
const std::string* text_value(const flyteidl2::settings::StringSetting& leaf);

}  // namespace writ
