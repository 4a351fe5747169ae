#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schema/apply/explained.h"
#include "schema/apply/resolved.h"
#include "schema/quantity.h"

namespace writ {

/// What the settings speak of; `storage` is ephemeral storage in a task. A GPU is any accelerator.
enum class Dimension { kCpu, kGpu, kMemory, kStorage };
inline constexpr std::array kDimensions{Dimension::kCpu, Dimension::kGpu, Dimension::kMemory,
                                        Dimension::kStorage};

/// A quantity of the settings.
struct SettingQuantity {
  Quantity quantity;
  std::string canonical;
  SettingSource by;
};

/// The settings about resources, each where it has a value.
struct ResourceRules {
  std::array<std::optional<SettingQuantity>, kDimensions.size()> min, max;
  std::optional<SettingSource> mirror;  ///< A limit that is missing becomes the request.

  const std::optional<SettingQuantity>& min_of(Dimension dimension) const {
    return min[static_cast<std::size_t>(dimension)];
  }
  const std::optional<SettingQuantity>& max_of(Dimension dimension) const {
    return max[static_cast<std::size_t>(dimension)];
  }
  /// Whether there is any of them.
  bool has_bounds() const {
    const auto is_there = [](const auto& bound) { return bound.has_value(); };
    return std::ranges::any_of(min, is_there) || std::ranges::any_of(max, is_there);
  }
};

/// Reads them. A quantity that is none, which validation does not let in, is left out with a
/// warning.
ResourceRules resource_rules(const ResolvedSettings& resolved, std::vector<std::string>* warnings);

/// What a task says of one resource, null where it says nothing.
struct Asked {
  Dimension dimension;
  const Quantity* request = nullptr;
  const Quantity* limit = nullptr;
};

/// What becomes of one value. Refers to the rules and to what was asked.
struct Ruling {
  const Quantity* after;
  const std::string* canonical;  ///< Its canonical form, null where that is not known yet.
  apply::v1::Action action;
  const SettingSource* by = nullptr;       ///< Null: the task's own limit.
  const SettingSource* ceiling = nullptr;  ///< What kept it down, when a setting did.
  bool kept_down_by_own_limit = false;
};

/// What becomes of the request and of the limit; nothing where they stay as they are.
struct Rulings {
  std::optional<Ruling> request, limit;
};

/// The rules of one resource: the limit is capped by max; the request by max and by the limit; a
/// request that is missing becomes min, capped likewise, unless that would give a GPU to a task
/// without one; a limit that is missing becomes the request, when limits mirror requests. So
/// request ≤ limit wherever both exist.
Rulings decide_resource(const ResourceRules& rules, const Asked& asked);

/// The rules of one resource in what a run says for its later tasks, where `asked.limit` is its own
/// max: min and max are written where there is nothing, and what is there is capped. Nobody gets a
/// GPU by this: it is the request of tasks that have one.
Rulings decide_default(const ResourceRules& rules, const Asked& asked);

/// Whether a task asks for this device after the rules.
bool asks_for_device(const Asked& asked, const Rulings& rulings);

/// Makes a path, which is only made to be shown.
using PathMaker = std::function<std::string()>;

/// Warns where the rules leave a device with a request that is not its limit.
void warn_of_device(const Asked& asked, const Rulings& rulings, const PathMaker& path,
                    Explained* explained);

/// Reads a quantity of the caller's; refuses it at `path` when it is none or negative.
std::optional<Quantity> read_quantity(const std::string& text, const PathMaker& path,
                                      Explained* explained);

/// Tells of a ruling and answers its text. `before` is null where there was nothing;
/// `limit_path` names the own limit, and is only looked at when `ruling.kept_down_by_own_limit`.
std::string explain_ruling(const Ruling& ruling, std::string path, const std::string* before,
                           const std::string& limit_path, Explained* explained);

}  // namespace writ
