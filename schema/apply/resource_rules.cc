#include "schema/apply/resource_rules.h"

#include "schema/quote.h"

namespace writ {
namespace {

namespace st = flyteidl2::settings;
using apply::v1::ACTION_CAPPED;
using apply::v1::ACTION_FILLED;
using apply::v1::ACTION_MIRRORED;

std::optional<SettingQuantity> read_setting(const st::QuantitySetting& leaf, const char* path,
                                            std::vector<std::string>* warnings) {
  if (leaf.state() != st::SETTING_STATE_VALUE) return std::nullopt;
  auto parsed = Quantity::parse(leaf.quantity_value());
  if (Quantity* quantity = std::get_if<Quantity>(&parsed); quantity) {
    std::string canonical = quantity->canonical();
    return SettingQuantity{std::move(*quantity), std::move(canonical), {path, leaf.scope_level()}};
  }
  warnings->push_back(std::string("the setting ") + path +
                      " is no quantity: " + quote(leaf.quantity_value()));
  return std::nullopt;
}

std::string described(const SettingQuantity& bound) {
  return std::string(bound.by.setting) + " " + bound.canonical;
}

bool is_above_zero(const Quantity* quantity) {
  return quantity && !quantity->is_zero() && !quantity->is_negative();
}

/// Lowers `value` to the ceiling and to the limit, whichever is less, and says why.
Ruling keep_down(Ruling value, const std::optional<SettingQuantity>& max, const Quantity* limit) {
  if (max && max->quantity < *value.after) {
    value.after = &max->quantity;
    value.canonical = &max->canonical;
    value.ceiling = &max->by;
  }
  if (limit && *limit < *value.after) {
    value.after = limit;
    value.canonical = nullptr;
    value.ceiling = nullptr;
    value.kept_down_by_own_limit = true;
  }
  return value;
}

/// What a value that the caller sent becomes, when that is another one.
std::optional<Ruling> cap(const Quantity& sent, const std::optional<SettingQuantity>& max,
                          const Quantity* limit) {
  Ruling ruling = keep_down({&sent, nullptr, ACTION_CAPPED}, max, limit);
  if (*ruling.after == sent) return std::nullopt;
  ruling.by = ruling.ceiling;
  return ruling;
}

}  // namespace

ResourceRules resource_rules(const ResolvedSettings& resolved, std::vector<std::string>* warnings) {
  const st::TaskResourceSettings& task = resolved.settings().task_resource();
  ResourceRules rules;
  rules.min = {read_setting(task.min().cpu(), "task_resource.min.cpu", warnings),
               read_setting(task.min().gpu(), "task_resource.min.gpu", warnings),
               read_setting(task.min().memory(), "task_resource.min.memory", warnings),
               read_setting(task.min().storage(), "task_resource.min.storage", warnings)};
  rules.max = {read_setting(task.max().cpu(), "task_resource.max.cpu", warnings),
               read_setting(task.max().gpu(), "task_resource.max.gpu", warnings),
               read_setting(task.max().memory(), "task_resource.max.memory", warnings),
               read_setting(task.max().storage(), "task_resource.max.storage", warnings)};
  for (const Dimension dimension : kDimensions) {
    const auto& min = rules.min_of(dimension);
    const auto& max = rules.max_of(dimension);
    if (min && max && max->quantity < min->quantity)
      warnings->push_back(described(*min) + " is above " + described(*max) +
                          ", so the latter is used for both");
  }
  const st::BoolSetting& mirror = task.mirror_limits_request();
  if (mirror.state() == st::SETTING_STATE_VALUE && mirror.bool_value())
    rules.mirror = {"task_resource.mirror_limits_request", mirror.scope_level()};
  return rules;
}

Rulings decide_resource(const ResourceRules& rules, const Asked& asked) {
  const auto& min = rules.min_of(asked.dimension);
  const auto& max = rules.max_of(asked.dimension);
  Rulings rulings;
  const Quantity* limit = asked.limit;
  if (limit) rulings.limit = cap(*limit, max, nullptr);
  if (rulings.limit) limit = rulings.limit->after;

  const Quantity* request = asked.request;
  if (request) {
    rulings.request = cap(*request, max, limit);
  } else if (min && (asked.dimension != Dimension::kGpu || is_above_zero(limit))) {
    rulings.request =
        keep_down({&min->quantity, &min->canonical, ACTION_FILLED, &min->by}, max, limit);
  }
  if (rulings.request) request = rulings.request->after;

  if (!limit && request && rules.mirror)
    rulings.limit = Ruling{request, rulings.request ? rulings.request->canonical : nullptr,
                           ACTION_MIRRORED, &*rules.mirror};
  return rulings;
}

Rulings decide_default(const ResourceRules& rules, const Asked& asked) {
  const auto& min = rules.min_of(asked.dimension);
  const auto& max = rules.max_of(asked.dimension);
  Rulings rulings;
  if (asked.limit)
    rulings.limit = cap(*asked.limit, max, nullptr);
  else if (max)
    rulings.limit = Ruling{&max->quantity, &max->canonical, ACTION_FILLED, &max->by};
  // A max that was filled in is the setting's, which is named for itself.
  const Quantity* own = asked.limit;
  if (own && rulings.limit) own = rulings.limit->after;
  if (asked.request)
    rulings.request = cap(*asked.request, max, own);
  else if (min)
    rulings.request =
        keep_down({&min->quantity, &min->canonical, ACTION_FILLED, &min->by}, max, own);
  return rulings;
}

bool asks_for_device(const Asked& asked, const Rulings& rulings) {
  return is_above_zero(rulings.request ? rulings.request->after : asked.request) ||
         is_above_zero(rulings.limit ? rulings.limit->after : asked.limit);
}

void warn_of_device(const Asked& asked, const Rulings& rulings, const PathMaker& path,
                    Explained* explained) {
  if (!rulings.request && !rulings.limit) return;
  const Quantity* request = rulings.request ? rulings.request->after : asked.request;
  const Quantity* limit = rulings.limit ? rulings.limit->after : asked.limit;
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

std::string explain_ruling(const Ruling& ruling, std::string path, const std::string* before,
                           const std::string& limit_path, Explained* explained) {
  static const SettingSource none;
  std::string after = ruling.canonical ? *ruling.canonical : ruling.after->canonical();
  apply::v1::Change& change = explained->changed(ruling.action, std::move(path), before, after,
                                                 ruling.by ? *ruling.by : none);
  if (ruling.kept_down_by_own_limit) {
    change.mutable_bounded_by()->set_field(limit_path);
    if (ruling.action == ACTION_CAPPED)
      explained->warnings.push_back(change.path() + " " + change.before() + " is above the limit " +
                                    change.after() + ", so it is lowered to that");
  } else if (ruling.ceiling && ruling.action == ACTION_FILLED) {
    change.mutable_bounded_by()->mutable_setting()->assign(ruling.ceiling->setting);
    change.mutable_bounded_by()->set_scope_level(ruling.ceiling->scope_level);
  }
  return after;
}

}  // namespace writ
