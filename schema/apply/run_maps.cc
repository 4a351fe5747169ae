#include <string_view>
#include <unordered_set>

#include "schema/apply/run_fields.h"

namespace writ {
namespace {

void explain(const ResolvedEntry& entry, const std::string& field, Explained* explained) {
  explained->changed(apply::v1::ACTION_FILLED, field + entry.place, nullptr, *entry.value,
                     entry.source());
}

/// For labels and annotations.
template <typename Message>
void fill_map(const ResolvedSettings::Entries& entries, const std::string& path, Message* field,
              Explained* explained) {
  for (const ResolvedEntry& entry : entries) {
    if (field->values().contains(*entry.key)) continue;
    (*field->mutable_values())[*entry.key] = *entry.value;
    explain(entry, path, explained);
  }
}

}  // namespace

void apply_run_maps(const ResolvedSettings& resolved, flyteidl2::task::RunSpec* run,
                    Explained* explained) {
  // A field that is absent stays so when there is nothing to put into it.
  if (!resolved.labels().empty())
    fill_map(resolved.labels(), "run_spec.labels", run->mutable_labels(), explained);
  if (!resolved.annotations().empty())
    fill_map(resolved.annotations(), "run_spec.annotations", run->mutable_annotations(), explained);

  std::unordered_set<std::string_view> named;
  for (const auto& variable : run->envs().values()) named.insert(variable.key());
  for (const ResolvedEntry& entry : resolved.environment_variables()) {
    if (named.contains(*entry.key)) continue;
    flyteidl2::core::KeyValuePair* variable = run->mutable_envs()->add_values();
    variable->set_key(*entry.key);
    variable->set_value(*entry.value);
    explain(entry, "run_spec.envs", explained);
  }
}

}  // namespace writ
