#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flyteidl2/settings/settings_definition.pb.h"
#include "writ/audit/v1/audit.pb.h"

namespace writ {

/// What settings say, leaf by leaf: each leaf that is not INHERIT by its path, e.g.
/// `task_resource.max.gpu`, and each entry of a map beside the map itself, e.g. `labels["team"]`.
/// In the order of the fields, entries by key.
struct LeafEntry {
  std::string path;
  std::string leaf;  ///< The path of the leaf: that of the map, for an entry.
  audit::v1::LeafValue value;
};
std::vector<LeafEntry> leaf_entries(const flyteidl2::settings::Settings& settings);

/// What differs between two settings, in the order of the fields. Maps are compared entry by entry.
/// Both must be pruned, or effective settings.
std::vector<audit::v1::LeafChange> diff_settings(const flyteidl2::settings::Settings& before,
                                                 const flyteidl2::settings::Settings& after);

/// The path of the leaf that `path` is, or of the map that it is an entry of.
std::string_view leaf_of_path(std::string_view path);

/// What stands in the index of changed settings for any entry of the map `leaf`.
std::string any_entry(std::string_view leaf);

/// A path as people write it to say which settings they mean: a leaf, an entry of a map or a group.
class PathFilter {
 public:
  /// Everything.
  PathFilter() = default;
  /// Throws std::invalid_argument when there is nothing of this name; it says how to write what may
  /// have been meant.
  explicit PathFilter(const std::string& path);

  bool matches(std::string_view path) const;
  /// The rows of the index of changed paths that together hold all that matches.
  const std::vector<std::string>& index_paths() const { return index_paths_; }

 private:
  std::string path_;
  std::vector<std::string> index_paths_;
};

}  // namespace writ
