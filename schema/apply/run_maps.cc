#include <unordered_set>

#include "schema/apply/run_fields.h"
#include "schema/quote.h"

namespace writ {
namespace {

using flyteidl2::settings::Settings;

void explain(const ResolvedEntry& entry, const std::string& setting, const std::string& field,
             Explained* explained) {
  const std::string place = "[" + quote(*entry.key) + "]";
  explained->changed(apply::v1::ACTION_FILLED, field + place, nullptr, *entry.value,
                     {setting + place, entry.scope_level});
}

/// For labels and annotations, which have the names of their settings.
template <typename Message>
void fill_map(const std::vector<ResolvedEntry>& entries, const std::string& name, Message* field,
              Explained* explained) {
  for (const ResolvedEntry& entry : entries) {
    if (field->values().contains(*entry.key)) continue;
    (*field->mutable_values())[*entry.key] = *entry.value;
    explain(entry, name, "run_spec." + name, explained);
  }
}

}  // namespace

void apply_run_maps(const ResolvedSettings& resolved, flyteidl2::task::RunSpec* run,
                    Explained* explained) {
  // A field that is absent stays so when there is nothing to put into it.
  if (const auto labels = resolved.entries(&Settings::labels); !labels.empty())
    fill_map(labels, "labels", run->mutable_labels(), explained);
  if (const auto annotations = resolved.entries(&Settings::annotations); !annotations.empty())
    fill_map(annotations, "annotations", run->mutable_annotations(), explained);

  std::unordered_set<std::string> named;
  for (const auto& variable : run->envs().values()) named.insert(variable.key());
  for (const ResolvedEntry& entry : resolved.entries(&Settings::environment_variables)) {
    if (named.contains(*entry.key)) continue;
    flyteidl2::core::KeyValuePair* variable = run->mutable_envs()->add_values();
    variable->set_key(*entry.key);
    variable->set_value(*entry.value);
    explain(entry, "environment_variables", "run_spec.envs", explained);
  }
}

}  // namespace writ
