#include "service/token_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "events/sha256.h"
#include "schema/base64.h"
#include "schema/protojson.h"
#include "service/proto_time.h"
#include "writ/identity/v1/tokens.pb.h"

namespace writ {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kLongestName = 128;
constexpr std::size_t kMostTokens = 10'000;  // each request looks at all of them
constexpr char kAnonymous[] = "anonymous";

class File {
 public:
  File(const std::filesystem::path& path, int flags)
      : path_(path), fd_(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600)) {
    if (fd_ < 0) fail("cannot be opened");
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int get() const { return fd_; }
  [[noreturn]] void fail(const char* what) const {
    const int reason = errno;
    throw TokenFileError(path_.string() + " " + what + ": " + std::strerror(reason));
  }

 private:
  std::filesystem::path path_;
  int fd_;
};

Token from_message(const identity::v1::Token& message) {
  Token token;
  token.caller.name = message.name();
  if (!is_actor_name(message.name())) throw std::invalid_argument("no name for an actor");
  const auto role = parse_role(message.role());
  if (!role) throw std::invalid_argument("unknown role \"" + message.role() + "\"");
  token.caller.role = *role;
  if (message.scopes().empty()) throw std::invalid_argument("no scope");
  for (const std::string& scope : message.scopes())
    token.caller.scopes.push_back(RoleScope::parse(scope));
  token.secret_sha256 = from_hex(message.secret_sha256());
  if (!token.secret_sha256.empty() && token.secret_sha256.size() != sizeof(Digest))
    throw std::invalid_argument("secretSha256 is no SHA-256");
  token.created = from_proto(message.created(), "created");
  if (message.has_expires()) token.expires = from_proto(message.expires(), "expires");
  if (!message.instance().empty()) token.instance = message.instance();
  return token;
}

identity::v1::Token to_message(const Token& token) {
  identity::v1::Token message;
  message.set_name(token.caller.name);
  message.set_secret_sha256(hex(token.secret_sha256));
  message.set_role(std::string(role_name(token.caller.role)));
  for (const RoleScope& scope : token.caller.scopes) message.add_scopes(scope.text());
  *message.mutable_created() = to_proto(token.created);
  if (token.expires) *message.mutable_expires() = to_proto(*token.expires);
  message.set_instance(token.instance);
  return message;
}

std::vector<Token> parse_tokens(const std::string& text, const std::string& file) {
  identity::v1::TokenFile message;
  const JsonRead read = read_json(text, &message, JsonMode::kRequest);
  if (read.error) throw TokenFileError(file + ": " + read.error->message());
  if (!read.unknown_fields.empty())
    throw TokenFileError(file + ": unknown field " + read.unknown_fields.front());
  if (static_cast<std::size_t>(message.tokens_size()) > kMostTokens)
    throw TokenFileError(file + ": over 10000 tokens");
  std::vector<Token> tokens;
  std::set<std::string> names;
  for (int i = 0; i < message.tokens_size(); ++i) {
    try {
      tokens.push_back(from_message(message.tokens(i)));
      if (!names.insert(message.tokens(i).name()).second)
        throw std::invalid_argument("a name given twice");
    } catch (const std::exception& e) {
      throw TokenFileError(file + ": tokens[" + std::to_string(i) + "] \"" +
                           message.tokens(i).name() + "\": " + e.what());
    }
  }
  return tokens;
}

/// A token a line, for those who read it and for `diff`.
std::string file_text(const std::vector<Token>& tokens) {
  std::string text = "{\"tokens\":[";
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    text += i == 0 ? "\n" : ",\n";
    text += write_json(to_message(tokens[i]));
  }
  return text + "\n]}\n";
}

void replace(const std::filesystem::path& file, const std::string& text) {
  const std::filesystem::path next = file.string() + ".new";
  std::filesystem::remove(next);
  {
    const File out(next, O_WRONLY | O_CREAT | O_EXCL);
    // Root may make tokens for a service that runs as somebody else.
    struct stat directory {};
    if (::geteuid() == 0 && ::stat(file.parent_path().c_str(), &directory) == 0 &&
        ::fchown(out.get(), directory.st_uid, directory.st_gid) != 0)
      out.fail("cannot be given to the owner of its directory");
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t count = ::write(out.get(), text.data() + done, text.size() - done);
      if (count < 0) out.fail("cannot be written");
      done += static_cast<std::size_t>(count);
    }
    if (::fsync(out.get()) != 0) out.fail("cannot be written");
  }
  std::filesystem::rename(next, file);
  const File directory(file.parent_path(), O_RDONLY | O_DIRECTORY);
  ::fsync(directory.get());
}

}  // namespace

std::string new_secret() {
  std::string secret = "writ_";
  for (const char c : encode_base64(random_bytes(kSecretBytes)))
    if (c != '=') secret += c == '+' ? '-' : c == '/' ? '_' : c;
  return secret;
}

std::string secret_hash(std::string_view secret) { return std::string(bytes_of(sha256(secret))); }

bool is_actor_name(std::string_view name) {
  const auto alphanumeric = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !name.empty() && name.size() <= kLongestName && alphanumeric(name.front()) &&
         name != kAnonymous && std::all_of(name.begin(), name.end(), [&](char c) {
           return alphanumeric(c) || std::string_view("._@+-").find(c) != std::string_view::npos;
         });
}

std::vector<Token> read_tokens(const std::filesystem::path& file) {
  const File in(file, O_RDONLY);
  struct stat status {};
  if (::fstat(in.get(), &status) != 0) in.fail("cannot be read");
  if (!S_ISREG(status.st_mode)) throw TokenFileError(file.string() + " is no file");
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    throw TokenFileError(file.string() +
                         " may be written by others than its owner; chmod 600 mends that");
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::read(in.get(), text.data() + done, text.size() - done);
    if (count <= 0) in.fail("cannot be read");
    done += static_cast<std::size_t>(count);
  }
  return parse_tokens(text, file.string());
}

std::filesystem::path token_lock_file(const std::filesystem::path& file) {
  return file.string() + ".lock";
}

void change_tokens(const std::filesystem::path& file,
                   const std::function<void(std::vector<Token>&)>& change) {
  const std::filesystem::path path = std::filesystem::absolute(file);
  if (std::filesystem::create_directories(path.parent_path()))
    std::filesystem::permissions(path.parent_path(), std::filesystem::perms::owner_all);
  const File lock(token_lock_file(path), O_RDWR | O_CREAT);
  if (::flock(lock.get(), LOCK_EX) != 0) lock.fail("cannot be locked");
  std::vector<Token> tokens;
  if (std::filesystem::exists(path)) tokens = read_tokens(path);
  change(tokens);
  replace(path, file_text(tokens));
}

}  // namespace writ
