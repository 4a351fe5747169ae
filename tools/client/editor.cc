#include "tools/client/editor.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <system_error>

namespace writ::client {
namespace {

std::string editor_command() {
  for (const char* name : {"VISUAL", "EDITOR"})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  return "vi";
}

}  // namespace

int open_editor(const std::filesystem::path& file) {
  // As everywhere, the variable is a shell's command with arguments; the file is an argument more.
  const std::string script = editor_command() + " \"$@\"";
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGINT, &ignore, &before);
  const pid_t child = fork();
  if (child == 0) {
    sigaction(SIGINT, &before, nullptr);
    std::signal(SIGPIPE, SIG_DFL);
    execl("/bin/sh", "sh", "-c", script.c_str(), "editor", file.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  pid_t waited = child;
  if (child > 0) do
      waited = waitpid(child, &status, 0);
    while (waited < 0 && errno == EINTR);
  const int error = errno;
  sigaction(SIGINT, &before, nullptr);
  if (waited < 0) throw std::system_error(error, std::generic_category(), "cannot run an editor");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace writ::client
