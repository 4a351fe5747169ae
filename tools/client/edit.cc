#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <system_error>

#include "schema/leaf_diff.h"
#include "tools/client/commands.h"
#include "tools/client/editor.h"
#include "tools/client/input_file.h"
#include "tools/client/print.h"
#include "tools/client/record.h"
#include "tools/client/setting.h"
#include "tools/client/settings_file.h"
#include "tools/exit_codes.h"

namespace writ::client {
namespace {

namespace fs = flyteidl2::settings;
using std::filesystem::path;

struct EditOptions : ClientOptions {
  std::string from_file;
  bool yes = false;
};

void write_file(const path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (!(out << text << std::flush)) throw std::runtime_error("cannot write " + file.string());
}

/// A new file that only this user can read.
path new_file(const std::string& text) {
  constexpr int kSuffix = 5;
  std::string name = std::filesystem::temp_directory_path() / "writ-settings-XXXXXX.yaml";
  const int fd = mkstemps(name.data(), kSuffix);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "cannot make " + name);
  close(fd);
  write_file(name, text);
  return name;
}

/// What the scope is to say, with what this program's schema does not know left as it was.
fs::Settings replaced(const fs::Settings& current, const fs::Settings& wanted) {
  fs::Settings settings = current;
  for (const Setting& setting : all_settings()) {
    setting.clear_in(&settings);
    if (const auto* leaf = setting.find_in(wanted)) setting.make_in(&settings)->CopyFrom(*leaf);
  }
  return settings;
}

bool confirmed(const EditOptions& options) {
  if (options.yes) return true;
  std::cerr << "Write this to " << options.scope() << "? [y/N] " << std::flush;
  std::string answer;
  if (!std::getline(std::cin, answer)) std::cerr << "\n";
  return answer == "y" || answer == "Y" || answer == "yes";
}

class Edit {
 public:
  explicit Edit(const EditOptions& options)
      : options_(options), api_(connect(options)), levels_(read_levels(*api_, options.key())) {}

  int from_file() {
    const auto read = read_settings_file(read_input(options_.from_file, "settings"));
    if (const auto* error = std::get_if<FileError>(&read))
      throw UsageError(options_.from_file + ": " + error->text());
    if (!show_difference(std::get<fs::Settings>(read))) return nothing_changed();
    return write("--from-file " + options_.from_file);
  }

  int in_editor() {
    const std::string original = write_settings_file(levels_);
    file_ = new_file(original);
    std::string shown = original;
    for (;;) {
      const int status = open_editor(file_);
      const std::string text = read_input(file_, "settings");
      const bool unchanged = text == shown;
      if (unchanged && shown == original) {
        remove_file();
        if (status == 0) return nothing_changed();
        std::cerr << "writ: the editor ended with " << status << ", so nothing changed\n";
        return kFailure;
      }
      if (status != 0)
        return keep_file("the editor ended with " + std::to_string(status) +
                         ", so nothing changed");
      if (unchanged) return keep_file("given up, so nothing changed");
      const std::string plain = without_error(text);
      const auto read = read_settings_file(plain);
      if (const auto* error = std::get_if<FileError>(&read)) {
        shown = with_error(*error, plain);
        write_file(file_, shown);
        std::cerr << "writ: " << error->text() << "\n";
        continue;
      }
      if (!show_difference(std::get<fs::Settings>(read))) return remove_file(), nothing_changed();
      if (!confirmed(options_)) return keep_file("not confirmed, so nothing changed");
      return write_from_editor(plain);
    }
  }

 private:
  const fs::SettingsRecord& own() const { return levels_.back(); }

  /// False when there is none.
  bool show_difference(const fs::Settings& wanted) {
    wanted_ = replaced(own().settings(), wanted);
    const auto difference = diff_settings(own().settings(), wanted_);
    if (options_.output == Output::kTable) print_changes(difference);
    return !difference.empty();
  }

  int write(const std::string& again) {
    try {
      const auto written = write_record(*api_, options_.key(), wanted_, own().version());
      if (options_.output == Output::kTable)
        std::cout << options_.scope() << ": version " << written.version() << "\n";
      else
        print_message(written, options_.output);
      return kSuccess;
    } catch (const Refused& e) {
      if (!e.is_conflict()) throw;
      std::cerr << "writ: nothing was written: meanwhile " << options_.scope() << " was "
                << last_change(*api_, options_.key(), "", e.refusal()) << "\n"
                << "writ: look at it with `writ " << theirs()
                << "`; to put yours in its place, `writ edit " << scope_flags() << again
                << "` shows what that takes back of theirs\n";
      return kExitConflict;
    }
  }

  int write_from_editor(const std::string& text) {
    const int code = report([&] { return write("--from-file " + file_.string()); });
    if (code == kSuccess) return remove_file(), code;
    write_file(file_, text);
    std::cerr << "writ: your edit is kept in " << file_.string() << "\n";
    return code;
  }

  std::string scope_flags() const {
    std::string flags;
    if (!options_.domain.empty()) flags += "-d " + options_.domain + " ";
    if (!options_.project.empty()) flags += "-p " + options_.project + " ";
    return flags;
  }

  std::string theirs() const {
    return own().version() == 0 ? "get " + scope_flags()
                                : "diff " + scope_flags() + "v" + std::to_string(own().version());
  }

  int nothing_changed() const {
    std::cerr << "writ: nothing changed\n";
    return kSuccess;
  }

  int keep_file(const std::string& why) const {
    std::cerr << "writ: " << why << "; your edit is kept in " << file_.string() << "\n";
    return kFailure;
  }

  void remove_file() const {
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
  }

  const EditOptions& options_;
  std::unique_ptr<Api> api_;
  std::vector<fs::SettingsRecord> levels_;
  path file_;
  fs::Settings wanted_;
};

int edit(const EditOptions& options) {
  Edit edit(options);
  return options.from_file.empty() ? edit.in_editor() : edit.from_file();
}

}  // namespace

void add_edit(CommandSet& commands) {
  const auto options = std::make_shared<EditOptions>();
  CLI::App& command = add_client_command(
      commands, "edit", "Edit what a scope says, in an editor or from a file", options, edit);
  add_scope_options(command, *options);
  add_reason_option(command, *options);
  command
      .add_option("-f,--from-file", options->from_file,
                  "Take this file instead of an editor, and do not ask; - is standard input")
      ->type_name("FILE");
  command.add_flag("-y,--yes", options->yes, "Write without asking");
  command.footer(
      "The editor is VISUAL or EDITOR. The file is the whole record of the scope: what is not in "
      "it is\n"
      "inherited. It has the format of `flyte edit settings`, so files move between the two.");
}

}  // namespace writ::client
