#include "schema/validate.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "schema/leaf.h"
#include "schema/name_syntax.h"
#include "schema/near_miss.h"
#include "schema/protojson.h"
#include "schema/prune.h"
#include "schema/quantity.h"
#include "schema/quote.h"
#include "schema/utf8.h"
#include "writ/schema/v1/rules.pb.h"

namespace writ {
namespace {

namespace pb = google::protobuf;
namespace st = flyteidl2::settings;
using schema::v1::Rules;

/// More bytes of a refused value are not repeated in the message.
constexpr std::size_t kMaxShown = 1024;
constexpr std::size_t kMaxOrg = 63;

/// The checks of one settings message, each in its turn.
class SettingsChecks {
 public:
  explicit SettingsChecks(const st::Settings& settings) : settings_(settings) {
    for_each_leaf(settings, [&](const Leaf& leaf) { leaves_.push_back(leaf); });
  }

  std::vector<Violation> run();

 private:
  bool any_nul() const;
  void check_nul(const pb::Message& message, const std::string& path);
  void check_states();
  void check_integers();
  void check_quantities();
  void check_enum_options();
  void check_negative();
  void check_bounds(const pb::Message& group, const std::string& prefix);
  void check_bound(const pb::Message& lower, const std::string& lower_path,
                   const pb::Message& upper, const std::string& upper_path);
  void check_map_syntax();
  void check_texts();
  void check_map_sizes();
  void check_record_size();

  /// Calls `check(leaf, rules)` for each leaf that has a value and a rule of the kind `has` tells.
  template <typename Check>
  void for_each_ruled(bool (Rules::*has)() const, Check check) const;

  void refuse(const std::string& path, std::string message) {
    violations_.push_back({path, std::move(message)});
  }

  const st::Settings& settings_;
  std::vector<Leaf> leaves_;
  std::vector<Violation> violations_;
};

const Rules& rules_of(const pb::FieldDescriptor& field) {
  return field.options().GetExtension(schema::v1::rules);
}

std::string shown_path(const Leaf& leaf) {
  const std::string& label = rules_of(*leaf.field).label();
  return label.empty() ? leaf.path : label;
}

/// The value as messages show it, cut between two characters when it is huge.
std::string shown_value(std::string_view value) {
  if (value.size() <= kMaxShown) return quote(value);
  std::size_t end = kMaxShown;
  while (end > kMaxShown - 4 && (static_cast<unsigned char>(value[end]) & 0xc0) == 0x80) --end;
  return quote(value.substr(0, end)) + "...";
}

std::string text_value(const Leaf& leaf) {
  return leaf.message->GetReflection()->GetString(*leaf.message, leaf.shape.value);
}

std::optional<Quantity> quantity_value(const Leaf& leaf) {
  const auto parsed = Quantity::parse(text_value(leaf));
  if (const Quantity* quantity = std::get_if<Quantity>(&parsed)) return *quantity;
  return std::nullopt;
}

/// The entries of a string map leaf, in no order.
const pb::Map<std::string, std::string>& entries_of(const Leaf& leaf) {
  return static_cast<const st::StringMap&>(
             leaf.message->GetReflection()->GetMessage(*leaf.message, leaf.shape.value))
      .entries();
}

template <typename Check>
void SettingsChecks::for_each_ruled(bool (Rules::*has)() const, Check check) const {
  for (const Leaf& leaf : leaves_) {
    const Rules& rules = rules_of(*leaf.field);
    if (leaf.has_value() && (rules.*has)()) check(leaf, rules);
  }
}

std::vector<Violation> SettingsChecks::run() {
  if (any_nul()) check_nul(settings_, "");
  check_states();
  check_integers();
  check_quantities();
  check_enum_options();
  check_negative();
  check_bounds(settings_, "");
  check_map_syntax();
  check_texts();
  check_map_sizes();
  check_record_size();
  return std::move(violations_);
}

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

/// Whether any string of the message has one, without saying where.
bool holds_nul(const pb::Message& message) {
  if (message.GetDescriptor() == st::StringMap::descriptor()) {
    const auto& entries = static_cast<const st::StringMap&>(message).entries();
    return std::any_of(entries.begin(), entries.end(), [](const auto& entry) {
      return has_nul(entry.first) || has_nul(entry.second);
    });
  }
  const pb::Reflection* reflection = message.GetReflection();
  std::vector<const pb::FieldDescriptor*> present;
  reflection->ListFields(message, &present);
  std::string scratch;
  return std::any_of(present.begin(), present.end(), [&](const pb::FieldDescriptor* field) {
    if (field->is_repeated()) return false;
    if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE)
      return holds_nul(reflection->GetMessage(message, field));
    return field->type() == pb::FieldDescriptor::TYPE_STRING &&
           has_nul(reflection->GetStringReference(message, field, &scratch));
  });
}

/// The answer for nearly every request: paths are made only when there is something to say.
bool SettingsChecks::any_nul() const {
  std::string scratch;
  return std::any_of(leaves_.begin(), leaves_.end(), [&](const Leaf& leaf) {
    const pb::Reflection* reflection = leaf.message->GetReflection();
    const pb::FieldDescriptor* value = leaf.shape.value;
    if (value->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE)
      return holds_nul(reflection->GetMessage(*leaf.message, value));
    return value->type() == pb::FieldDescriptor::TYPE_STRING &&
           has_nul(reflection->GetStringReference(*leaf.message, value, &scratch));
  });
}

void SettingsChecks::check_nul(const pb::Message& message, const std::string& path) {
  const std::string rule = ": must not contain U+0000";
  if (const auto* map = dynamic_cast<const st::StringMap*>(&message)) {
    std::map<std::string_view, std::string_view> sorted(map->entries().begin(),
                                                        map->entries().end());
    for (const auto& [key, value] : sorted) {
      const std::string entry = path + "[" + quote(key) + "]";
      if (has_nul(key) || has_nul(value)) refuse(entry, "invalid " + entry + rule);
    }
    return;
  }
  const pb::Reflection* reflection = message.GetReflection();
  const auto shape = leaf_shape(*message.GetDescriptor());
  std::vector<const pb::FieldDescriptor*> present;
  reflection->ListFields(message, &present);
  for (const pb::FieldDescriptor* field : present) {
    // A leaf and its value are one thing to people, so the value has the leaf's path.
    const bool is_value = shape && field == shape->value;
    const std::string inner = is_value       ? path
                              : path.empty() ? field->name()
                                             : path + "." + field->name();
    if (field->is_repeated()) continue;
    if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE) {
      check_nul(reflection->GetMessage(message, field), inner);
    } else if (field->type() == pb::FieldDescriptor::TYPE_STRING &&
               has_nul(reflection->GetString(message, field))) {
      refuse(inner, "invalid " + inner + rule);
    }
  }
}

void SettingsChecks::check_states() {
  for (const Leaf& leaf : leaves_) {
    if (st::SettingState_IsValid(leaf.state())) continue;
    const std::string path = leaf.path + ".state";
    refuse(path, "invalid " + path + " " + std::to_string(leaf.state()));
  }
}

void SettingsChecks::check_integers() {
  for_each_ruled(&Rules::has_integer, [&](const Leaf& leaf, const Rules& rules) {
    const std::int64_t value =
        leaf.message->GetReflection()->GetInt64(*leaf.message, leaf.shape.value);
    const schema::v1::IntegerRule& rule = rules.integer();
    if (value >= rule.min() && value <= rule.max()) return;
    if (value == 0 && !rule.zero_means().empty()) return;
    std::string allowed;
    if (!rule.zero_means().empty()) allowed = "0 (" + rule.zero_means() + ") or ";
    allowed += "between " + std::to_string(rule.min()) + " and " + std::to_string(rule.max());
    refuse(leaf.path,
           "invalid " + shown_path(leaf) + " " + std::to_string(value) + ": must be " + allowed);
  });
}

void SettingsChecks::check_quantities() {
  for_each_ruled(&Rules::has_quantity, [&](const Leaf& leaf, const Rules&) {
    const std::string value = text_value(leaf);
    const auto parsed = Quantity::parse(value);
    if (const QuantityError* error = std::get_if<QuantityError>(&parsed)) {
      refuse(leaf.path, "invalid " + shown_path(leaf) + " " + shown_value(value) + ": " +
                            std::string(describe(*error)));
    }
  });
}

/// What `option` says on each value of the enum, where it says anything; and the values' own names
/// in the same order, since those are what people write by mistake.
struct OptionNames {
  std::vector<std::string> allowed;
  std::vector<std::string> enum_names;
  std::string option_name;
};

OptionNames option_names(const schema::v1::EnumOptionRule& rule) {
  const pb::DescriptorPool& pool = *pb::DescriptorPool::generated_pool();
  const pb::EnumDescriptor* type = pool.FindEnumTypeByName(rule.enum_());
  const pb::FieldDescriptor* option = pool.FindExtensionByName(rule.option());
  GOOGLE_CHECK(type && option) << "a rule names what does not exist: " << rule.ShortDebugString();
  OptionNames names;
  names.option_name = option->name();
  for (int i = 0; i < type->value_count(); ++i) {
    const pb::EnumValueOptions& options = type->value(i)->options();
    if (!options.GetReflection()->HasField(options, option)) continue;
    names.allowed.push_back(options.GetReflection()->GetString(options, option));
    names.enum_names.push_back(type->value(i)->name());
  }
  return names;
}

std::string hint(const OptionNames& names, const std::string& value) {
  const auto same = std::find(names.enum_names.begin(), names.enum_names.end(), value);
  const std::string near =
      same != names.enum_names.end()
          ? names.allowed[static_cast<std::size_t>(same - names.enum_names.begin())]
          : nearest_name(value, names.allowed);
  return near.empty() ? "" : " (did you mean " + quote(near) + "?)";
}

void SettingsChecks::check_enum_options() {
  for (const Leaf& leaf : leaves_) {
    if (!leaf.has_value() || !leaf.shape.value->message_type()) continue;
    const pb::Message& message =
        leaf.message->GetReflection()->GetMessage(*leaf.message, leaf.shape.value);
    for (const pb::FieldDescriptor* field : fields_by_number(*message.GetDescriptor())) {
      if (!rules_of(*field).has_enum_option()) continue;
      const schema::v1::EnumOptionRule& rule = rules_of(*field).enum_option();
      const OptionNames names = option_names(rule);
      const std::string value = message.GetReflection()->GetString(message, field);
      if (std::count(names.allowed.begin(), names.allowed.end(), value) != 0) continue;
      refuse(leaf.path + "." + field->name(),
             "invalid " + shown_path(leaf) + " " + field->name() + " " + shown_value(value) +
                 ": must be one of the " + rule.enum_() + " " + names.option_name + " values" +
                 hint(names, value));
    }
  }
}

void SettingsChecks::check_negative() {
  for_each_ruled(&Rules::has_quantity, [&](const Leaf& leaf, const Rules& rules) {
    const auto quantity = quantity_value(leaf);
    if (!rules.quantity().refuse_negative() || !quantity || !quantity->is_negative()) return;
    refuse(leaf.path, "invalid " + shown_path(leaf) + " " + shown_value(text_value(leaf)) +
                          ": must not be negative");
  });
}

void SettingsChecks::check_bounds(const pb::Message& group, const std::string& prefix) {
  const pb::Reflection* reflection = group.GetReflection();
  std::vector<const pb::FieldDescriptor*> present;
  reflection->ListFields(group, &present);
  for (const pb::FieldDescriptor* field : present) {
    if (!field->message_type() || is_leaf(*field->message_type())) continue;
    const pb::Message& child = reflection->GetMessage(group, field);
    check_bounds(child, prefix + field->name() + ".");
    const std::string& sibling = rules_of(*field).upper_bound_of();
    if (sibling.empty()) continue;
    const pb::FieldDescriptor* lower = group.GetDescriptor()->FindFieldByName(sibling);
    GOOGLE_CHECK(lower) << "a rule names a field that does not exist: " << sibling;
    check_bound(reflection->GetMessage(group, lower), prefix + sibling + ".", child,
                prefix + field->name() + ".");
  }
}

void SettingsChecks::check_bound(const pb::Message& lower, const std::string& lower_path,
                                 const pb::Message& upper, const std::string& upper_path) {
  std::map<std::string, std::string> bounds;
  for_each_leaf(upper, [&](const Leaf& leaf) {
    if (leaf.has_value() && rules_of(*leaf.field).has_quantity()) {
      bounds[leaf.path] = text_value(leaf);
    }
  });
  for_each_leaf(lower, [&](const Leaf& leaf) {
    const auto bound = bounds.find(leaf.path);
    if (!leaf.has_value() || bound == bounds.end()) return;
    const auto value = quantity_value(leaf);
    const auto parsed = Quantity::parse(bound->second);
    const Quantity* limit = std::get_if<Quantity>(&parsed);
    if (!value || !limit || *value <= *limit) return;
    const std::string path = lower_path + leaf.path;
    refuse(path, "invalid " + path + " " + shown_value(text_value(leaf)) + ": must not be above " +
                     upper_path + leaf.path + " " + shown_value(bound->second));
  });
}

/// A limit of 0 is no limit.
bool has_too_many(std::size_t count, std::size_t limit) { return limit != 0 && count > limit; }

void SettingsChecks::check_map_syntax() {
  for_each_ruled(&Rules::has_map, [&](const Leaf& leaf, const Rules& rules) {
    // Too many entries are one violation, not thousands.
    if (has_too_many(entries_of(leaf).size(), rules.map().max_entries())) return;
    const std::map<std::string_view, std::string_view> entries(entries_of(leaf).begin(),
                                                               entries_of(leaf).end());
    for (const auto& [key, value] : entries) {
      if (const auto rule = broken_syntax(rules.map().key(), key); !rule.empty()) {
        refuse(leaf.path, "invalid " + shown_path(leaf) + " " + shown_value(key) + ": a key must " +
                              std::string(rule));
      }
      if (const auto rule = broken_syntax(rules.map().value(), value); !rule.empty()) {
        const std::string path = shown_path(leaf) + "[" + shown_value(key) + "]";
        refuse(path, "invalid " + path + " " + shown_value(value) + ": must " + std::string(rule));
      }
    }
  });
}

std::string listed(const pb::RepeatedPtrField<std::string>& allowed) {
  std::string list = "empty";
  for (int i = 0; i < allowed.size(); ++i) {
    list += (i + 1 == allowed.size() ? " or " : ", ") + quote(allowed[i]);
  }
  return list;
}

void SettingsChecks::check_texts() {
  for_each_ruled(&Rules::has_text, [&](const Leaf& leaf, const Rules& rules) {
    const std::string value = text_value(leaf);
    if (value.empty()) return;
    const std::string start = "invalid " + shown_path(leaf) + " " + shown_value(value) + ": must ";
    const auto& allowed = rules.text().allowed();
    if (const auto rule = broken_syntax(rules.text().syntax(), value); !rule.empty()) {
      refuse(leaf.path, start + std::string(rule));
    } else if (!allowed.empty() && std::count(allowed.begin(), allowed.end(), value) == 0) {
      refuse(leaf.path, start + "be " + listed(allowed));
    }
  });
}

void SettingsChecks::check_map_sizes() {
  for_each_ruled(&Rules::has_map, [&](const Leaf& leaf, const Rules& rules) {
    const auto& entries = entries_of(leaf);
    std::size_t bytes = 0;
    for (const auto& [key, value] : entries) bytes += key.size() + value.size();
    const auto max_entries = rules.map().max_entries();
    const auto max_bytes = rules.map().max_bytes();
    const std::string start = "invalid " + shown_path(leaf) + ": must ";
    if (has_too_many(entries.size(), max_entries)) {
      refuse(leaf.path, start + "have at most " + std::to_string(max_entries) + " entries, has " +
                            std::to_string(entries.size()));
    }
    if (has_too_many(bytes, max_bytes)) {
      refuse(leaf.path, start + "take at most " + std::to_string(max_bytes) +
                            " bytes, keys and values together, takes " + std::to_string(bytes));
    }
  });
}

void SettingsChecks::check_record_size() {
  const std::size_t limit =
      settings_.GetDescriptor()->options().GetExtension(schema::v1::message_rules).max_bytes();
  // What counts is what is stored: the pruned JSON. It is made only for records that could be too
  // large: escapes make at most six bytes of one, and the names of fields and states take the rest.
  if (8 * settings_.ByteSizeLong() + 8192 <= limit || !violations_.empty()) return;
  st::Settings pruned = settings_;
  prune(&pruned);
  const std::size_t size = write_json(pruned).size();
  if (!has_too_many(size, limit)) return;
  refuse("settings", "invalid settings: must take at most " + std::to_string(limit) +
                         " bytes as JSON, takes " + std::to_string(size));
}

bool is_plain_text(std::string_view text) {
  while (!text.empty()) {
    const auto next = decode_utf8(text);
    if (!next || next->code_point < 0x20) return false;
    if (next->code_point >= 0x7f && next->code_point <= 0x9f) return false;
    text.remove_prefix(next->size);
  }
  return true;
}

void check_segment(const std::string& name, const std::string& value,
                   std::vector<Violation>* violations) {
  if (value.empty() || is_qualified_segment(value)) return;
  violations->push_back({"key." + name, "invalid " + name + " " + shown_value(value) +
                                            ": must be 1 to 63 letters, digits, '-', '_' or '.', "
                                            "starting and ending with a letter or digit"});
}

}  // namespace

std::vector<Violation> validate_key(const st::SettingsKey* key) {
  if (!key) return {{"key", "key is required"}};
  std::vector<Violation> violations;
  if (!key->project().empty() && key->domain().empty()) {
    violations.push_back({"key.domain", "a project-scope key requires a domain"});
  }
  check_segment("domain", key->domain(), &violations);
  check_segment("project", key->project(), &violations);
  if (key->org().size() > kMaxOrg || !is_plain_text(key->org())) {
    violations.push_back(
        {"key.org", "invalid org: must be at most 63 bytes of UTF-8 without control characters"});
  }
  return violations;
}

std::vector<Violation> validate_settings(const st::Settings* settings) {
  if (!settings) return {{"settings", "settings is required"}};
  return SettingsChecks(*settings).run();
}

}  // namespace writ
