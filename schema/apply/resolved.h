#pragma once

#include <string>
#include <vector>

#include "flyteidl2/settings/settings_definition.pb.h"
#include "schema/merge.h"

namespace writ {

/// A setting, or an entry of a map, that has a value, and the scope that says it.
struct SettingSource {
  std::string setting;  ///< Its path, e.g. `task_resource.max.cpu` or `labels["team"]`.
  flyteidl2::settings::ScopeLevel scope_level = flyteidl2::settings::SCOPE_LEVEL_ORG;
};

/// One entry of a map in effect. Points into the settings it was taken from.
struct ResolvedEntry {
  const std::string* key;
  const std::string* value;
  flyteidl2::settings::ScopeLevel scope_level;
};

/// The settings in effect at the end of a chain. The chain must outlive it.
class ResolvedSettings {
 public:
  /// `chain` is broadest first, as for `merge`.
  explicit ResolvedSettings(const std::vector<Level>& chain)
      : chain_(chain), settings_(merge(chain)) {}

  /// Merged: each leaf has its `scope_level`.
  const flyteidl2::settings::Settings& settings() const { return settings_; }

  using MapLeaf =
      const flyteidl2::settings::StringMapSetting& (flyteidl2::settings::Settings::*)() const;
  /// The entries of a map in the order of their keys, none when its state is not VALUE. Each has
  /// the scope that says this entry, while the map's own `scope_level` is that of the last to say
  /// anything.
  std::vector<ResolvedEntry> entries(MapLeaf map) const;

 private:
  const std::vector<Level>& chain_;
  const flyteidl2::settings::Settings settings_;
};

/// The value of a text setting, null when it has none or the empty one, which says "none" too.
const std::string* text_value(const flyteidl2::settings::StringSetting& leaf);

}  // namespace writ
