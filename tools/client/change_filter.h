#pragma once

#include <string>

#include "tools/client/options.h"
#include "writ/audit/v1/audit.pb.h"

namespace writ::client {

/// Which changes `log` and `watch` are to tell.
struct FilterOptions : ClientOptions {
  bool instance = false;  ///< Only of the instance itself; without a domain it is every scope.
  bool below = false;
  std::string path, actor;
};

void add_filter_options(CLI::App& command, FilterOptions& options);

/// Throws UsageError.
audit::v1::ChangeFilter change_filter(const FilterOptions& options);

/// A path to ask the history for: a setting, an entry of a map in either spelling, or a group.
/// Throws UsageError, with the nearest, when it names nothing.
std::string history_path(const std::string& path);

/// Changes as rows.
class ChangeTable {
 public:
  ChangeTable();
  ~ChangeTable();
  void add(const audit::v1::Change& change);
  void print();

 private:
  struct Rows;
  std::unique_ptr<Rows> rows_;
};

}  // namespace writ::client
