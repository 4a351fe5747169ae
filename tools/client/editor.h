#pragma once

#include <filesystem>

namespace writ::client {

/// Opens a file in the user's editor, VISUAL or EDITOR or vi, and waits until that ends. Answers
/// its exit code, or 128 and the signal that ended it. Ctrl-C is for the editor meanwhile.
int open_editor(const std::filesystem::path& file);

}  // namespace writ::client
