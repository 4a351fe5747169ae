#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/acceptance/json.h"

namespace writ::test {

/// What settings mean, said once more on JSON trees and for tests only: pruning, merging, and which
/// command is answered how. Knows no message types; a leaf is told by its place.
class SettingsModel {
 public:
  /// An answer: `code` "" and a body, or the code and message of an error.
  struct Answer {
    std::string code, message;
    Json body;
  };

  /// `request` is the JSON that a client sends, with settings in which everything but pruning is
  /// already valid.
  Answer create(const Json& request);
  Answer update(const Json& request);
  Answer get(const Json& request) const;
  Answer get_for_edit(const Json& request) const;

  /// As `settings_rows` tells them.
  Json rows() const;
  /// How many writes were accepted.
  long events() const { return events_; }
  /// The version of a record, 0 when there is none.
  long version(const std::string& storage_key) const;

 private:
  struct Record {
    Json settings;
    long version = 0;
    long id = 0;
  };
  Answer write(const Json& request, Record& record);
  const Record* find(const std::string& storage_key) const;

  std::map<std::string, Record> records_;
  long events_ = 0;
};

/// Drops what says nothing; names states by name, maps sorted.
Json pruned(const Json& settings);
/// The effective settings of a chain of pruned ones, broadest first; a level may be null.
Json merged(const std::vector<const Json*>& levels);
std::string storage_key(const Json& key);

/// The name of the value member of a leaf, by the names that lead to it joined with dots; "" when
/// there is no leaf there.
std::string value_member(const std::string& path);
/// All leaves: path and value member.
const std::vector<std::pair<std::string, std::string>>& all_leaves();

}  // namespace writ::test
