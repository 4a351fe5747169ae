#include <CLI/CLI.hpp>
#include <iostream>
#include <map>

#include "schema/leaf_diff.h"
#include "schema/quote.h"
#include "tools/client/commands.h"
#include "tools/client/print.h"
#include "tools/client/record.h"
#include "tools/client/setting.h"
#include "tools/client/setting_value.h"
#include "tools/exit_codes.h"

namespace writ::client {
namespace {

namespace fs = flyteidl2::settings;

/// A conflict that touches nothing of ours is tried again this often.
constexpr int kTries = 8;

struct SetOptions : ClientOptions {
  std::vector<std::string> changes;
};

enum class Kind { kSet, kUnset, kInherit };

/// One change of one setting, or of one entry of a map.
struct Edit {
  Kind kind;
  Place place;
  std::string value;
};

void check(const Edit& edit) {
  if (edit.kind == Kind::kUnset && edit.place.entry)
    throw UsageError("an entry of a map cannot be unset; `writ inherit` takes " +
                     edit.place.path() + " away, `writ unset " + edit.place.setting->path +
                     "` all entries of broader scopes");
  if (edit.kind != Kind::kSet || edit.place.entry) return;
  fs::Settings scratch;
  try {
    set_from_text(*edit.place.setting, edit.value, edit.place.setting->make_in(&scratch));
  } catch (const ValueError& e) {
    throw UsageError(edit.place.path() + ": " + e.what());
  }
}

Edit parse(Kind kind, const std::string& text) {
  if (kind != Kind::kSet) return {kind, find_place(text), ""};
  // Behind `["`, an equals sign may be a part of the entry's name.
  const std::size_t key_end = text.find("\"]=");
  const std::size_t equals = key_end != std::string::npos && text.find("[\"") < text.find('=')
                                 ? key_end + 2
                                 : text.find('=');
  if (equals == std::string::npos)
    throw UsageError(quote(text) + " says no value: give PATH=VALUE");
  return {kind, find_place(text.substr(0, equals)), text.substr(equals + 1)};
}

void apply_to_entry(const Edit& edit, fs::Settings* settings) {
  const Setting& setting = *edit.place.setting;
  if (edit.kind == Kind::kInherit && setting.map_in(*settings) == nullptr) return;
  google::protobuf::Message* leaf = setting.make_in(settings);
  const google::protobuf::Reflection* reflection = leaf->GetReflection();
  reflection->SetEnumValue(leaf, setting.shape.state, fs::SETTING_STATE_VALUE);
  auto* entries = static_cast<fs::StringMap*>(reflection->MutableMessage(leaf, setting.shape.value))
                      ->mutable_entries();
  if (edit.kind == Kind::kSet) {
    (*entries)[*edit.place.entry] = edit.value;
  } else {
    entries->erase(*edit.place.entry);
    if (entries->empty()) setting.clear_in(settings);
  }
}

void apply(const Edit& edit, fs::Settings* settings) {
  if (edit.place.entry) return apply_to_entry(edit, settings);
  const Setting& setting = *edit.place.setting;
  if (edit.kind == Kind::kInherit)
    setting.clear_in(settings);
  else if (edit.kind == Kind::kUnset)
    set_unset(setting, setting.make_in(settings));
  else
    set_from_text(setting, edit.value, setting.make_in(settings));
}

/// What `settings` say of the place, with all its entries for a whole map; and for an entry,
/// whether there is a map at all.
std::string said_of(const Place& place, const fs::Settings& settings) {
  const Setting& setting = *place.setting;
  std::string said = std::to_string(setting.state_in(settings));
  if (place.entry) {
    // Whether another entry has made the map already is none of ours.
    if (setting.state_in(settings) != fs::SETTING_STATE_UNSET) said = "";
    const fs::StringMap* map = setting.map_in(settings);
    if (map == nullptr || !map->entries().contains(*place.entry)) return said;
    return said + "=" + map->entries().at(*place.entry);
  }
  for (const LeafEntry& entry : leaf_entries(settings))
    if (entry.leaf == setting.path) said += "\n" + entry.path + "=" + shown(entry.value);
  return said;
}

/// Why a change that lost against another must not be tried again: somebody touched what it
/// touches. Empty when nobody did.
std::string why_not_again(Api& api, const fs::SettingsKey& key, const std::vector<Edit>& edits,
                          const fs::Settings& before, const fs::Settings& now,
                          const Refusal& refusal) {
  for (const Edit& edit : edits) {
    const std::string path = edit.place.path();
    if (said_of(edit.place, before) != said_of(edit.place, now))
      return path + " was " + last_change(api, key, edit.place.setting->path, refusal) +
             "; look at it, and run this again if it still holds";
  }
  return "";
}

int write_edits(const ClientOptions& options, const std::vector<Edit>& edits) {
  const auto api = connect(options);
  const fs::SettingsKey key = options.key();
  fs::SettingsRecord own = read_levels(*api, key).back();
  for (int attempt = 1;; ++attempt) {
    fs::Settings changed = own.settings();
    for (const Edit& edit : edits) apply(edit, &changed);
    const auto difference = diff_settings(own.settings(), changed);
    if (difference.empty()) {
      std::cerr << "writ: nothing to change: " << options.scope() << " says so already\n";
      return kSuccess;
    }
    try {
      const fs::SettingsRecord written = write_record(*api, key, changed, own.version());
      if (options.output != Output::kTable) {
        print_message(written, options.output);
      } else {
        print_changes(difference);
        std::cout << options.scope() << ": version " << written.version() << "\n";
      }
      return kSuccess;
    } catch (const Refused& e) {
      if (!e.is_conflict()) throw;
      const fs::SettingsRecord now = read_levels(*api, key).back();
      std::string why =
          why_not_again(*api, key, edits, own.settings(), now.settings(), e.refusal());
      if (why.empty() && attempt == kTries)
        why = "others change " + options.scope() + " all the time; try again later";
      if (!why.empty()) {
        std::cerr << "writ: nothing was written: " << why << "\n";
        return kExitConflict;
      }
      own = now;
    }
  }
}

int run(Kind kind, const SetOptions& options) {
  std::vector<Edit> edits;
  std::map<std::string, int> seen;
  for (const std::string& text : options.changes) {
    edits.push_back(parse(kind, text));
    check(edits.back());
    if (++seen[edits.back().place.path()] > 1)
      throw UsageError(edits.back().place.path() + " is there twice; only one can hold");
  }
  return write_edits(options, edits);
}

int set(const SetOptions& options) { return run(Kind::kSet, options); }
int unset(const SetOptions& options) { return run(Kind::kUnset, options); }
int inherit(const SetOptions& options) { return run(Kind::kInherit, options); }

void add(CommandSet& commands, const std::string& name, const std::string& about,
         const std::string& form, const std::string& notes, int (*action)(const SetOptions&)) {
  const auto options = std::make_shared<SetOptions>();
  CLI::App& command = add_client_command(commands, name, about, options, action);
  command.add_option("changes", options->changes, "What to change")->type_name(form)->required();
  add_scope_options(command, *options);
  add_reason_option(command, *options);
  command.footer(notes);
}

}  // namespace

void add_set(CommandSet& commands) {
  const std::string retries =
      "\nWhen somebody else changed the scope meanwhile, it is tried again, unless they changed "
      "the\nsame settings: that is a conflict, and nothing is written.";
  add(commands, "set", "Set settings at a scope", "PATH=VALUE...",
      "Entries of maps: labels.team=ml. Whole maps: labels='{team: ml, tier: \"1\"}'." + retries,
      set);
  add(commands, "unset", "Take back what broader scopes say of settings", "PATH...",
      "The setting then has no value here, whatever broader scopes say." + retries, unset);
  add(commands, "inherit", "Drop what a scope says of settings", "PATH...",
      "The broader scope decides again. An entry of a map: labels.team." + retries, inherit);
}

}  // namespace writ::client
