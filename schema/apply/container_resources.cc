#include "schema/apply/container_resources.h"

#include <array>

#include "schema/protojson.h"

namespace writ {
namespace {

using flyteidl2::core::Resources;
using Entries = google::protobuf::RepeatedPtrField<Resources::ResourceEntry>;

constexpr std::array<Resources::ResourceName, kDimensions.size()> kNames{
    Resources::CPU, Resources::GPU, Resources::MEMORY, Resources::EPHEMERAL_STORAGE};

std::string place(const std::string& list, int name) {
  const std::string& known =
      Resources::ResourceName_Name(static_cast<Resources::ResourceName>(name));
  std::string path;
  path.reserve(list.size() + known.size() + 16);
  path += list;
  path += '[';
  path += known.empty() ? std::to_string(name) : '"' + known + '"';
  path += ']';
  return path;
}

/// One list of entries, read: those that the rules speak of by dimension.
struct ReadList {
  struct Read {
    Resources::ResourceEntry* entry = nullptr;
    std::optional<Quantity> quantity;
  };
  std::array<Read, kDimensions.size()> of;
};

/// Checks every entry, also those that no rule speaks of.
ReadList read_list(Entries* entries, const std::string& path, Explained* explained) {
  ReadList list;
  for (int i = 0; i < entries->size(); ++i) {
    Resources::ResourceEntry& entry = *entries->Mutable(i);
    for (int j = 0; j < i; ++j) {
      if (entries->Get(j).name() != entry.name()) continue;
      explained->refuse(place(path, entry.name()), "named twice");
      return list;
    }
    const auto parsed = Quantity::parse(entry.value());
    const bool good =
        std::holds_alternative<Quantity>(parsed) && !std::get<Quantity>(parsed).is_negative();
    // The path is made only to be shown.
    if (!good) read_quantity(entry.value(), place(path, entry.name()), explained);
    for (std::size_t d = 0; good && d < kNames.size(); ++d)
      if (kNames[d] == entry.name()) list.of[d] = {&entry, std::get<Quantity>(parsed)};
  }
  return list;
}

Asked asked_of(Dimension dimension, const ReadList& requests, const ReadList& limits) {
  const auto& request = requests.of[static_cast<std::size_t>(dimension)];
  const auto& limit = limits.of[static_cast<std::size_t>(dimension)];
  return {dimension, request.quantity, limit.quantity};
}

/// Puts an outcome into its list and tells of it.
void write(const Outcome& outcome, Dimension dimension, Resources::ResourceEntry* entry,
           Entries* entries, const std::string& path, const std::string& limit_path,
           Explained* explained) {
  const Resources::ResourceName name = kNames[static_cast<std::size_t>(dimension)];
  explain_outcome(outcome, place(path, name), entry ? &entry->value() : nullptr,
                  outcome.kept_down_by_own_limit ? place(limit_path, name) : "", explained);
  if (!entry) {
    entry = entries->Add();
    entry->set_name(name);
  }
  entry->set_value(outcome.after.canonical());
}

void fill_accelerator(const flyteidl2::settings::AcceleratorSetting& leaf,
                      flyteidl2::task::RunSpec* run, Explained* explained) {
  const auto& accelerator = leaf.accelerator_value();
  if (leaf.state() != flyteidl2::settings::SETTING_STATE_VALUE || accelerator.ByteSizeLong() == 0)
    return;
  const auto& now = run->default_settings().task_resource_defaults().default_accelerator();
  if (now.ByteSizeLong() != 0) return;
  *run->mutable_default_settings()
       ->mutable_task_resource_defaults()
       ->mutable_default_accelerator() = accelerator;
  explained->changed(apply::v1::ACTION_FILLED,
                     "run_spec.default_settings.task_resource_defaults.default_accelerator",
                     std::nullopt, write_json(accelerator),
                     {"task_resource.default_accelerator", leaf.scope_level()});
}

}  // namespace

bool apply_to_container(const ResourceRules& rules, const std::string& path,
                        flyteidl2::core::Container* container, Explained* explained) {
  // Made for good only when something is put into it.
  Resources none;
  Resources* resources = container->has_resources() ? container->mutable_resources() : &none;
  const std::string requests_path = path + ".resources.requests";
  const std::string limits_path = path + ".resources.limits";
  const ReadList requests = read_list(resources->mutable_requests(), requests_path, explained);
  const ReadList limits = read_list(resources->mutable_limits(), limits_path, explained);
  bool asks_for_gpu = false;
  for (const Dimension dimension : kDimensions) {
    const Asked asked = asked_of(dimension, requests, limits);
    const Outcomes outcomes = decide_resource(rules, asked);
    const auto index = static_cast<std::size_t>(dimension);
    if (outcomes.request)
      write(*outcomes.request, dimension, requests.of[index].entry, resources->mutable_requests(),
            requests_path, limits_path, explained);
    if (outcomes.limit)
      write(*outcomes.limit, dimension, limits.of[index].entry, resources->mutable_limits(),
            limits_path, limits_path, explained);
    if (dimension == Dimension::kGpu) {
      asks_for_gpu = asks_for_device(asked, outcomes);
      warn_of_device(asked, outcomes, place(requests_path, kNames[index]), explained);
    }
  }
  if (resources == &none && none.ByteSizeLong() != 0) *container->mutable_resources() = none;
  return asks_for_gpu;
}

void apply_to_run_defaults(const ResolvedSettings& resolved, const ResourceRules& rules,
                           flyteidl2::task::RunSpec* run, Explained* explained) {
  const std::string path = "run_spec.default_settings.task_resource_defaults";
  flyteidl2::task::TaskResourceDefaults defaults = run->default_settings().task_resource_defaults();
  const ReadList requests = read_list(defaults.mutable_requests(), path + ".requests", explained);
  const ReadList maxima = read_list(defaults.mutable_max(), path + ".max", explained);
  const std::size_t before = explained->changes.size();
  for (const Dimension dimension : kDimensions) {
    const auto index = static_cast<std::size_t>(dimension);
    const Outcomes outcomes = decide_default(rules, asked_of(dimension, requests, maxima));
    if (outcomes.request)
      write(*outcomes.request, dimension, requests.of[index].entry, defaults.mutable_requests(),
            path + ".requests", path + ".max", explained);
    if (outcomes.limit)
      write(*outcomes.limit, dimension, maxima.of[index].entry, defaults.mutable_max(),
            path + ".max", path + ".max", explained);
  }
  if (explained->changes.size() > before)
    *run->mutable_default_settings()->mutable_task_resource_defaults() = std::move(defaults);
  fill_accelerator(resolved.settings().task_resource().default_accelerator(), run, explained);
}

}  // namespace writ
