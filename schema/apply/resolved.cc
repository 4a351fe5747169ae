#include "schema/apply/resolved.h"

#include <algorithm>

namespace writ {

using flyteidl2::settings::SETTING_STATE_VALUE;

std::vector<ResolvedEntry> ResolvedSettings::entries(MapLeaf map) const {
  const flyteidl2::settings::StringMapSetting& merged = (settings_.*map)();
  std::vector<ResolvedEntry> entries;
  if (merged.state() != SETTING_STATE_VALUE) return entries;
  for (const auto& [key, value] : merged.map_value().entries()) {
    // It is in effect, so the narrowest level that has it was not taken back.
    const auto by =
        std::find_if(chain_.rbegin(), chain_.rend(), [&, &name = key](const Level& level) {
          return level.settings && (level.settings->*map)().state() == SETTING_STATE_VALUE &&
                 (level.settings->*map)().map_value().entries().contains(name);
        });
    GOOGLE_CHECK(by != chain_.rend());
    entries.push_back({&key, &value, static_cast<flyteidl2::settings::ScopeLevel>(by->scope)});
  }
  std::ranges::sort(entries, {}, [](const ResolvedEntry& entry) { return *entry.key; });
  return entries;
}

const std::string* text_value(const flyteidl2::settings::StringSetting& leaf) {
  const bool has = leaf.state() == SETTING_STATE_VALUE && !leaf.string_value().empty();
  return has ? &leaf.string_value() : nullptr;
}

}  // namespace writ
