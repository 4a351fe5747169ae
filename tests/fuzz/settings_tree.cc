#include <google/protobuf/stubs/logging.h>

#include <string>
#include <vector>

#include "flyteidl2/settings/settings_service.pb.h"
#include "schema/leaf.h"
#include "schema/merge.h"
#include "schema/protojson.h"
#include "schema/prune.h"
#include "schema/validate.h"
#include "service/connect_call.h"
#include "service/json_text.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"

namespace writ::fuzz {
namespace {

namespace st = flyteidl2::settings;

constexpr Scope kScopes[] = {Scope::kInstance, Scope::kDomain, Scope::kProject};

std::string bytes_of(const google::protobuf::Message& message) {
  return encode_message(Codec::kProto, message);
}

st::Settings pruned(st::Settings settings) {
  prune(&settings);
  return settings;
}

void check_pruned(const st::Settings& settings) {
  const std::string once = bytes_of(settings);
  require(bytes_of(pruned(settings)) == once, "pruning twice changes nothing");
  for_each_leaf(settings, [](const Leaf& leaf) {
    require(leaf.state() != st::SETTING_STATE_INHERIT, "no leaf that inherits is left");
    const auto* const reflection = leaf.message->GetReflection();
    require(!reflection->HasField(*leaf.message, leaf.shape.scope_level), "no level is left");
  });
  const std::string text = write_json(settings);
  st::Settings again;
  require(!read_json(text, &again, JsonMode::kRequest).error, "what is stored can be read");
  require(bytes_of(again) == once, "what is stored is read as the same settings");
}

/// Alone, or below or above a level that says nothing, settings are themselves.
void check_alone(const st::Settings& settings) {
  const st::Settings nothing;
  for (const Scope scope : kScopes) {
    const std::string alone = bytes_of(merge({{scope, &settings}}));
    require(bytes_of(merge({{Scope::kInstance, &nothing}, {scope, &settings}})) == alone,
            "an empty level above changes nothing");
    require(bytes_of(merge({{scope, &settings}, {Scope::kProject, &nothing}})) == alone,
            "an empty level below changes nothing");
    st::Settings merged = merge({{scope, &settings}});
    for_each_leaf(merged, [&](const Leaf& leaf) {
      const auto* const reflection = leaf.message->GetReflection();
      require(reflection->GetEnumValue(*leaf.message, leaf.shape.scope_level) ==
                  static_cast<int>(scope),
              "a leaf names the level that it comes from");
    });
    require(bytes_of(pruned(std::move(merged))) == bytes_of(settings),
            "one level alone is what it says");
  }
}

/// Levels may be merged one after the other.
void check_chain(const std::vector<st::Settings>& levels) {
  std::vector<Level> chain;
  st::Settings folded;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    chain.push_back({kScopes[i], &levels[i]});
    folded = pruned(merge({{Scope::kInstance, &folded}, {Scope::kProject, &levels[i]}}));
  }
  require(bytes_of(pruned(merge(chain))) == bytes_of(folded), "a chain is merged level by level");
}

void check_violations(const std::vector<Violation>& violations) {
  for (const Violation& violation : violations) {
    require(!violation.message.empty(), "a violation has a message");
    require(is_utf8(violation.path) && is_utf8(violation.message), "a violation is UTF-8");
  }
}

}  // namespace

void settings_tree(std::string_view input) {
  // Its line for every malformed message would cost more than the message.
  const google::protobuf::LogSilencer silencer;
  st::GetSettingsForEditResponse message;
  if (!message.ParseFromArray(input.data(), static_cast<int>(input.size()))) return;
  check_violations(validate_key(&message.requestedkey()));
  std::vector<st::Settings> levels;
  for (const st::SettingsRecord& record : message.levels()) {
    if (levels.size() == std::size(kScopes)) break;
    check_violations(validate_settings(&record.settings()));
    levels.push_back(pruned(record.settings()));
    check_pruned(levels.back());
    check_alone(levels.back());
  }
  check_chain(levels);
}

}  // namespace writ::fuzz
