#include "schema/apply/resource_rules.h"

#include "schema/quote.h"

namespace writ {
namespace {

namespace st = flyteidl2::settings;
using apply::v1::ACTION_CAPPED;
using apply::v1::ACTION_FILLED;
using apply::v1::ACTION_MIRRORED;

std::optional<SettingQuantity> read_setting(const st::QuantitySetting& leaf, const char* path,
                                            Explained* explained) {
  if (leaf.state() != st::SETTING_STATE_VALUE) return std::nullopt;
  auto parsed = Quantity::parse(leaf.quantity_value());
  if (Quantity* quantity = std::get_if<Quantity>(&parsed); quantity)
    return SettingQuantity{std::move(*quantity), {path, leaf.scope_level()}};
  explained->warnings.push_back(std::string("the setting ") + path +
                                " is no quantity: " + quote(leaf.quantity_value()));
  return std::nullopt;
}

bool is_above_zero(const Quantity* quantity) {
  return quantity && !quantity->is_zero() && !quantity->is_negative();
}

/// Lowers `value` to the ceiling and to the limit, whichever is less, and says why.
Outcome keep_down(Outcome value, const std::optional<SettingQuantity>& max, const Quantity* limit) {
  if (max && max->quantity < *value.after) {
    value.after = &max->quantity;
    value.ceiling = &max->by;
  }
  if (limit && *limit < *value.after) {
    value.after = limit;
    value.ceiling = nullptr;
    value.kept_down_by_own_limit = true;
  }
  return value;
}

/// What a value that the caller sent becomes, when that is another one.
std::optional<Outcome> cap(const Quantity& sent, const std::optional<SettingQuantity>& max,
                           const Quantity* limit) {
  Outcome outcome = keep_down({&sent, ACTION_CAPPED}, max, limit);
  if (*outcome.after == sent) return std::nullopt;
  outcome.by = outcome.ceiling;
  return outcome;
}

}  // namespace

ResourceRules resource_rules(const ResolvedSettings& resolved, Explained* explained) {
  const st::TaskResourceSettings& task = resolved.settings().task_resource();
  ResourceRules rules;
  rules.min = {read_setting(task.min().cpu(), "task_resource.min.cpu", explained),
               read_setting(task.min().gpu(), "task_resource.min.gpu", explained),
               read_setting(task.min().memory(), "task_resource.min.memory", explained),
               read_setting(task.min().storage(), "task_resource.min.storage", explained)};
  rules.max = {read_setting(task.max().cpu(), "task_resource.max.cpu", explained),
               read_setting(task.max().gpu(), "task_resource.max.gpu", explained),
               read_setting(task.max().memory(), "task_resource.max.memory", explained),
               read_setting(task.max().storage(), "task_resource.max.storage", explained)};
  for (const Dimension dimension : kDimensions) {
    const auto& min = rules.min_of(dimension);
    const auto& max = rules.max_of(dimension);
    if (min && max && max->quantity < min->quantity)
      explained->warnings.push_back(min->by.setting + " " + min->quantity.canonical() +
                                    " is above " + max->by.setting + " " +
                                    max->quantity.canonical() + ", so the latter is used for both");
  }
  const st::BoolSetting& mirror = task.mirror_limits_request();
  if (mirror.state() == st::SETTING_STATE_VALUE && mirror.bool_value())
    rules.mirror = {"task_resource.mirror_limits_request", mirror.scope_level()};
  return rules;
}

Outcomes decide_resource(const ResourceRules& rules, const Asked& asked) {
  const auto& min = rules.min_of(asked.dimension);
  const auto& max = rules.max_of(asked.dimension);
  Outcomes outcomes;
  const Quantity* limit = asked.limit;
  if (limit) outcomes.limit = cap(*limit, max, nullptr);
  if (outcomes.limit) limit = outcomes.limit->after;

  const Quantity* request = asked.request;
  if (request) {
    outcomes.request = cap(*request, max, limit);
  } else if (min && (asked.dimension != Dimension::kGpu || is_above_zero(limit))) {
    outcomes.request = keep_down({&min->quantity, ACTION_FILLED, &min->by}, max, limit);
  }
  if (outcomes.request) request = outcomes.request->after;

  if (!limit && request && rules.mirror)
    outcomes.limit = Outcome{request, ACTION_MIRRORED, &*rules.mirror};
  return outcomes;
}

Outcomes decide_default(const ResourceRules& rules, const Asked& asked) {
  const auto& min = rules.min_of(asked.dimension);
  const auto& max = rules.max_of(asked.dimension);
  Outcomes outcomes;
  if (asked.limit)
    outcomes.limit = cap(*asked.limit, max, nullptr);
  else if (max)
    outcomes.limit = Outcome{&max->quantity, ACTION_FILLED, &max->by};
  // A max that was filled in is the setting's, which is named for itself.
  const Quantity* own = asked.limit;
  if (own && outcomes.limit) own = outcomes.limit->after;
  if (asked.request)
    outcomes.request = cap(*asked.request, max, own);
  else if (min)
    outcomes.request = keep_down({&min->quantity, ACTION_FILLED, &min->by}, max, own);
  return outcomes;
}

bool asks_for_device(const Asked& asked, const Outcomes& outcomes) {
  return is_above_zero(outcomes.request ? outcomes.request->after : asked.request) ||
         is_above_zero(outcomes.limit ? outcomes.limit->after : asked.limit);
}

void warn_of_device(const Asked& asked, const Outcomes& outcomes, const PathMaker& path,
                    Explained* explained) {
  if (!outcomes.request && !outcomes.limit) return;
  const Quantity* request = outcomes.request ? outcomes.request->after : asked.request;
  const Quantity* limit = outcomes.limit ? outcomes.limit->after : asked.limit;
  if (request && limit && *request != *limit)
    explained->warnings.push_back(path() + " " + request->canonical() + " is not the limit " +
                                  limit->canonical() +
                                  "; Kubernetes takes a device only where both are the same");
}

std::optional<Quantity> read_quantity(const std::string& text, const PathMaker& path,
                                      Explained* explained) {
  constexpr std::size_t kMostShown = 64;
  const auto refuse = [&](const std::string& why) {
    explained->refuse(path(), quote(std::string_view(text).substr(0, kMostShown)) +
                                  (text.size() > kMostShown ? "...: " : ": ") + why);
    return std::nullopt;
  };
  auto parsed = Quantity::parse(text);
  if (const QuantityError* error = std::get_if<QuantityError>(&parsed))
    return refuse(std::string(describe(*error)));
  if (std::get<Quantity>(parsed).is_negative()) return refuse("must not be negative");
  return std::get<Quantity>(std::move(parsed));
}

std::string explain_outcome(const Outcome& outcome, std::string path, const std::string* before,
                            const std::string& limit_path, Explained* explained) {
  static const SettingSource none;
  std::string after = outcome.after->canonical();
  apply::v1::Change& change = explained->changed(outcome.action, std::move(path), before, after,
                                                 outcome.by ? *outcome.by : none);
  if (outcome.kept_down_by_own_limit) {
    change.mutable_bounded_by()->set_field(limit_path);
    if (outcome.action == ACTION_CAPPED)
      explained->warnings.push_back(change.path() + " " + change.before() + " is above the limit " +
                                    change.after() + ", so it is lowered to that");
  } else if (outcome.ceiling && outcome.action == ACTION_FILLED) {
    change.mutable_bounded_by()->set_setting(outcome.ceiling->setting);
    change.mutable_bounded_by()->set_scope_level(outcome.ceiling->scope_level);
  }
  return after;
}

}  // namespace writ
