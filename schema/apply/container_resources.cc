#include "schema/apply/container_resources.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "schema/protojson.h"

namespace writ {
namespace {

using flyteidl2::core::Resources;
using Entries = google::protobuf::RepeatedPtrField<Resources::ResourceEntry>;

constexpr std::array<Resources::ResourceName, kDimensions.size()> kNames{
    Resources::CPU, Resources::GPU, Resources::MEMORY, Resources::EPHEMERAL_STORAGE};

/// As a path says them, by dimension.
constexpr std::array<std::string_view, kDimensions.size()> kPlaces{
    "[\"CPU\"]", "[\"GPU\"]", "[\"MEMORY\"]", "[\"EPHEMERAL_STORAGE\"]"};

/// The name of a list of entries, in two halves, since most are never shown.
struct ListName {
  std::string_view owner, list;
};

std::string place(const ListName& list, int name) {
  const std::string& known =
      Resources::ResourceName_Name(static_cast<Resources::ResourceName>(name));
  std::string path;
  path.reserve(list.owner.size() + list.list.size() + known.size() + 16);
  path += list.owner;
  path += list.list;
  if (known.empty())
    path.append("[").append(std::to_string(name)).append("]");
  else
    path.append("[\"").append(known).append("\"]");
  return path;
}

std::string place(const ListName& list, Dimension dimension) {
  const std::string_view last = kPlaces[static_cast<std::size_t>(dimension)];
  std::string path;
  path.reserve(list.owner.size() + list.list.size() + last.size());
  path.append(list.owner).append(list.list).append(last);
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
ReadList read_list(Entries* entries, const ListName& path, Explained* explained) {
  ReadList list;
  for (int i = 0; i < entries->size(); ++i) {
    Resources::ResourceEntry& entry = *entries->Mutable(i);
    for (int j = 0; j < i; ++j) {
      if (entries->Get(j).name() != entry.name()) continue;
      explained->refuse(place(path, entry.name()), "named twice");
      return list;
    }
    auto quantity = read_quantity(
        entry.value(), [&] { return place(path, entry.name()); }, explained);
    if (!quantity) continue;
    const auto* const dimension = std::ranges::find(kNames, entry.name());
    if (dimension == kNames.end()) continue;
    list.of[static_cast<std::size_t>(dimension - kNames.begin())] = {&entry, std::move(quantity)};
  }
  return list;
}

Asked asked_of(Dimension dimension, const ReadList& requests, const ReadList& limits) {
  const auto& request = requests.of[static_cast<std::size_t>(dimension)];
  const auto& limit = limits.of[static_cast<std::size_t>(dimension)];
  return {dimension, request.quantity ? &*request.quantity : nullptr,
          limit.quantity ? &*limit.quantity : nullptr};
}

/// Puts a ruling into its list and tells of it.
void write(const Ruling& ruling, Dimension dimension, Resources::ResourceEntry* entry,
           Entries* entries, const ListName& path, const ListName& limit_path,
           Explained* explained) {
  const Resources::ResourceName name = kNames[static_cast<std::size_t>(dimension)];
  std::string after =
      explain_ruling(ruling, place(path, dimension), entry ? &entry->value() : nullptr,
                     ruling.kept_down_by_own_limit ? place(limit_path, dimension) : "", explained);
  if (!entry) {
    entry = entries->Add();
    entry->set_name(name);
  }
  entry->set_value(std::move(after));
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
                     nullptr, write_json(accelerator),
                     {"task_resource.default_accelerator", leaf.scope_level()});
}

/// Applies min and max to the defaults, which are made where there are none.
void fill_and_cap(const ResourceRules& rules, flyteidl2::task::RunSpec* run, Explained* explained) {
  constexpr std::string_view kPath = "run_spec.default_settings.task_resource_defaults";
  constexpr ListName kRequests{kPath, ".requests"}, kMax{kPath, ".max"};
  auto& defaults = *run->mutable_default_settings()->mutable_task_resource_defaults();
  const ReadList requests = read_list(defaults.mutable_requests(), kRequests, explained);
  const ReadList maxima = read_list(defaults.mutable_max(), kMax, explained);
  for (const Dimension dimension : kDimensions) {
    const auto index = static_cast<std::size_t>(dimension);
    const Rulings rulings = decide_default(rules, asked_of(dimension, requests, maxima));
    if (rulings.request)
      write(*rulings.request, dimension, requests.of[index].entry, defaults.mutable_requests(),
            kRequests, kMax, explained);
    if (rulings.limit)
      write(*rulings.limit, dimension, maxima.of[index].entry, defaults.mutable_max(), kMax, kMax,
            explained);
  }
}

}  // namespace

bool apply_to_container(const ResourceRules& rules, const std::string& path,
                        flyteidl2::core::Container* container, Explained* explained) {
  // Made for good only when something is put into it.
  Resources none;
  Resources* resources = container->has_resources() ? container->mutable_resources() : &none;
  const ListName requests_path{path, ".resources.requests"};
  const ListName limits_path{path, ".resources.limits"};
  const ReadList requests = read_list(resources->mutable_requests(), requests_path, explained);
  const ReadList limits = read_list(resources->mutable_limits(), limits_path, explained);
  bool asks_for_gpu = false;
  for (const Dimension dimension : kDimensions) {
    const Asked asked = asked_of(dimension, requests, limits);
    const Rulings rulings = decide_resource(rules, asked);
    const auto index = static_cast<std::size_t>(dimension);
    if (rulings.request)
      write(*rulings.request, dimension, requests.of[index].entry, resources->mutable_requests(),
            requests_path, limits_path, explained);
    if (rulings.limit)
      write(*rulings.limit, dimension, limits.of[index].entry, resources->mutable_limits(),
            limits_path, limits_path, explained);
    if (dimension == Dimension::kGpu) {
      asks_for_gpu = asks_for_device(asked, rulings);
      warn_of_device(
          asked, rulings, [&] { return place(requests_path, dimension); }, explained);
    }
  }
  if (resources == &none && none.ByteSizeLong() != 0) *container->mutable_resources() = none;
  return asks_for_gpu;
}

void apply_to_run_defaults(const ResolvedSettings& resolved, const ResourceRules& rules,
                           flyteidl2::task::RunSpec* run, Explained* explained) {
  // Where there are no defaults, they are made only to put something into them.
  if (run->default_settings().has_task_resource_defaults() || rules.has_bounds())
    fill_and_cap(rules, run, explained);
  fill_accelerator(resolved.settings().task_resource().default_accelerator(), run, explained);
}

}  // namespace writ
