#include "schema/apply/pod_template.h"

#include <algorithm>

#include "schema/quote.h"

namespace writ {
namespace {

constexpr char kSetting[] = "pod_template_name";

}  // namespace

void apply_pod_template(const ResolvedSettings& resolved, flyteidl2::task::RunSpec* run,
                        Explained* explained) {
  const auto& leaf = resolved.settings().pod_template_name();
  const std::string* name = text_value(leaf);
  if (!name || !run->default_settings().pod_template_name().empty()) return;
  explained->fill_text(*name, {kSetting, leaf.scope_level()},
                       "run_spec.default_settings.pod_template_name",
                       run->mutable_default_settings()->mutable_pod_template_name());
}

void apply_pod_template(const ResolvedSettings& resolved, const std::string& path,
                        flyteidl2::core::TaskTemplate* task, Explained* explained) {
  const auto& leaf = resolved.settings().pod_template_name();
  const std::string* name = text_value(leaf);
  if (!name || !task->metadata().pod_template_name().empty()) return;
  explained->fill_text(*name, {kSetting, leaf.scope_level()}, path + ".metadata.pod_template_name",
                       task->mutable_metadata()->mutable_pod_template_name());
}

void warn_of_pod_template(const std::string& of_run, Explained* explained) {
  if (of_run.empty()) return;
  const auto filled = std::ranges::find_if(explained->changes, [&](const auto& change) {
    return change.setting() == kSetting && change.after() != of_run;
  });
  if (filled != explained->changes.end())
    explained->warnings.push_back(
        "the run names its own pod template " + quote(of_run) +
        " for tasks that come later; the tasks here that name none start from " +
        quote(filled->after()));
}

}  // namespace writ
