#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "flyteidl2/settings/settings_definition.pb.h"
#include "flyteidl2/settings/settings_service.pb.h"

namespace writ::client {

/// What one scope says as a file for people, in the format that Flyte 2's command line also reads
/// and writes. YAML: one top-level mapping from flat dotted paths to values; `~unset` stands for
/// UNSET; what is not there is inherited. Nothing behind the colon of a setting that is a text is
/// the empty text, which Flyte 2's command line writes so; of any other it is an error, as null is.
/// All else is comment: `###` headers, `##` help and origins,
/// `#` settings that are not active here.
///
/// `levels` is the chain as GetSettingsForEdit answers it, broadest first; the last is the scope's
/// own.
std::string write_settings_file(const std::vector<flyteidl2::settings::SettingsRecord>& levels);

/// What is wrong with a file.
struct FileError {
  int line = 0;         ///< From 1; 0 when it is about the whole file.
  std::string path;     ///< The setting it is about, "" for none.
  std::string message;  ///< For people.

  /// `line 3: run.default_queue: …`, the line counted from `first_line` instead of 1.
  std::string text(int first_line = 1) const;
};

/// The settings that a file gives: each in state VALUE or UNSET. Refuses what is no YAML, unknown
/// paths (naming the nearest), what is there twice, and values of the wrong type; whether the
/// values are sensible is for the server to say.
std::variant<flyteidl2::settings::Settings, FileError> read_settings_file(std::string_view text);

/// `text` with the errors in front, as comments, for an editor; and without them. `with_errors`
/// adds `kErrorLines` lines.
std::string with_error(const FileError& error, const std::string& text);
std::string without_error(const std::string& text);
inline constexpr int kErrorLines = 2;

/// A scope as these files name it: `ORG`, `DOMAIN(d)`, `PROJECT(d/p)`.
std::string file_scope(const flyteidl2::settings::SettingsKey& key);

}  // namespace writ::client
