#include "schema/apply/resolved.h"

#include <algorithm>

#include "schema/quote.h"

namespace writ {
namespace {

using flyteidl2::settings::SETTING_STATE_VALUE;
using flyteidl2::settings::Settings;
using MapLeaf = const flyteidl2::settings::StringMapSetting& (Settings::*)() const;

/// The entries of the map `name` in effect, `merged` from `chain`.
std::vector<ResolvedEntry> entries(const Settings& merged, const std::vector<Level>& chain,
                                   MapLeaf map, const std::string& name) {
  std::vector<ResolvedEntry> entries;
  if ((merged.*map)().state() != SETTING_STATE_VALUE) return entries;
  for (const auto& [key, value] : (merged.*map)().map_value().entries()) {
    // It is in effect, so the narrowest level that has it was not taken back.
    const auto by =
        std::find_if(chain.rbegin(), chain.rend(), [&, &wanted = key](const Level& level) {
          return level.settings && (level.settings->*map)().state() == SETTING_STATE_VALUE &&
                 (level.settings->*map)().map_value().entries().contains(wanted);
        });
    GOOGLE_CHECK(by != chain.rend());
    std::string place = "[" + quote(key) + "]";
    std::string setting = name + place;
    entries.push_back({&key, &value, static_cast<flyteidl2::settings::ScopeLevel>(by->scope),
                       std::move(place), std::move(setting)});
  }
  std::ranges::sort(
      entries, {}, [](const ResolvedEntry& one) -> const auto& { return *one.key; });
  return entries;
}

}  // namespace

ResolvedSettings::ResolvedSettings(const std::vector<Level>& chain)
    : settings_(merge(chain)),
      labels_(entries(settings_, chain, &Settings::labels, "labels")),
      annotations_(entries(settings_, chain, &Settings::annotations, "annotations")),
      environment_variables_(
          entries(settings_, chain, &Settings::environment_variables, "environment_variables")) {}

const std::string* text_value(const flyteidl2::settings::StringSetting& leaf) {
  const bool has = leaf.state() == SETTING_STATE_VALUE && !leaf.string_value().empty();
  return has ? &leaf.string_value() : nullptr;
}

}  // namespace writ
