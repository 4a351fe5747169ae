#include "schema/apply/explained.h"

namespace writ {

apply::v1::Change& Explained::changed(apply::v1::Action action, std::string path,
                                      const std::string* before, std::string after,
                                      const SettingSource& by) {
  constexpr int kUsual = 64;
  if (changes.empty()) changes.Reserve(kUsual);
  apply::v1::Change& change = *changes.Add();
  change.set_path(std::move(path));
  if (before) change.set_before(*before);
  change.set_after(std::move(after));
  change.set_action(action);
  change.mutable_setting()->assign(by.setting);
  change.set_scope_level(by.scope_level);
  return change;
}

void Explained::fill_text(const std::string& value, const SettingSource& by, std::string path,
                          std::string* field) {
  *field = value;
  changed(apply::v1::ACTION_FILLED, std::move(path), nullptr, value, by);
}

void Explained::refuse(const std::string& path, const std::string& what) {
  violations.push_back({path, "invalid " + path + ": " + what});
}

}  // namespace writ
