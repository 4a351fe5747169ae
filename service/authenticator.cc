#include "service/authenticator.h"

#include <openssl/crypto.h>
#include <sys/stat.h>

#include <algorithm>

namespace writ {
namespace {

constexpr std::chrono::milliseconds kLookEvery{250};
constexpr std::string_view kSecretPrefix = "writ_";

/// The bearer token of a request; nothing without one.
std::optional<std::string_view> bearer(const RequestHead& head) {
  const auto value = head.find("Authorization");
  if (!value) return std::nullopt;
  const std::size_t blank = std::min(value->find(' '), value->size());
  if (!equals_ignore_case(value->substr(0, blank), "Bearer")) return std::nullopt;
  return trim_blanks(value->substr(blank));
}

void check_not_expired(const Token& token) {
  if (token.expires && *token.expires <= std::chrono::system_clock::now())
    throw ConnectError(Code::kUnauthenticated, "the token has expired; ask for a new one");
}

/// How often a header is there.
long count(const RequestHead& head, std::string_view name) {
  return std::count_if(head.fields.begin(), head.fields.end(), [&](const HeaderField& field) {
    return equals_ignore_case(field.name, name);
  });
}

}  // namespace

Authenticator::Authenticator(IdentityOptions options, std::function<void(const std::string&)> warn)
    : options_(std::move(options)), warn_(std::move(warn)) {
  known();
}

std::shared_ptr<const Authenticator::Known> Authenticator::known() const {
  const std::scoped_lock lock(mutex_);
  const auto now = Clock::now();
  if (known_ && now < look_again_) return known_;
  look_again_ = now + kLookEvery;
  const auto before = std::exchange(known_, look(known_.get()));
  if (!known_->error.empty() && (!before || before->error != known_->error))
    warn_("nobody is let in: " + known_->error);
  if (before && before->anonymous && !known_->anonymous)
    warn_(options_.token_file.string() + " is there now: from here on callers need a token");
  return known_;
}

std::shared_ptr<const Authenticator::Known> Authenticator::look(const Known* before) const {
  struct stat status {};
  auto now = std::make_shared<Known>();
  now->exists = ::stat(options_.token_file.c_str(), &status) == 0 || errno != ENOENT;
  if (!now->exists) {
    // Behind a proxy nobody has a role yet; a file that was there is missed.
    const bool proxy = !options_.actor_header.empty();
    now->anonymous = !proxy && (before == nullptr || before->anonymous);
    if (!proxy && !now->anonymous) now->error = options_.token_file.string() + " is gone";
    return now;
  }
  now->inode = status.st_ino;
  now->changed = {status.st_ctim.tv_sec, status.st_ctim.tv_nsec};
  if (before != nullptr && before->exists && before->inode == now->inode &&
      before->changed == now->changed && before->error.empty())
    return known_;
  try {
    now->tokens = read_tokens(options_.token_file);
  } catch (const TokenFileError& e) {
    now->error = e.what();
  }
  return now;
}

Caller Authenticator::identify(const HttpRequest& request) const {
  const auto known = this->known();
  const auto secret = bearer(request.head);
  if (known->anonymous) {
    if (secret && secret->starts_with(kSecretPrefix))
      throw ConnectError(Code::kUnauthenticated,
                         "this server runs without authentication and knows no tokens");
    return anonymous_caller();
  }
  if (!known->error.empty())
    throw ConnectError(Code::kUnavailable, "the server cannot read who may do what; try again");
  if (secret) return by_secret(*secret, *known);
  if (!options_.actor_header.empty() &&
      std::any_of(options_.trusted_proxies.begin(), options_.trusted_proxies.end(),
                  [&](const AddressRange& range) { return range.contains(request.peer); })) {
    const auto names = count(request.head, options_.actor_header);
    if (names == 1) return by_proxy(request.head.field(options_.actor_header), *known);
    // One may be the client's own: whose is whose cannot be told.
    if (names > 1) throw ConnectError(Code::kUnauthenticated, "the caller is named more than once");
  }
  throw ConnectError(Code::kUnauthenticated,
                     "a token is needed: send the header Authorization: Bearer TOKEN");
}

Caller Authenticator::by_secret(std::string_view secret, const Known& known) const {
  const std::string hash = secret_hash(secret);
  const Token* found = nullptr;
  // All of them, each in constant time.
  for (const Token& token : known.tokens) {
    const bool same = token.secret_sha256.size() == hash.size() &&
                      CRYPTO_memcmp(token.secret_sha256.data(), hash.data(), hash.size()) == 0;
    if (same) found = &token;
  }
  if (found == nullptr)
    throw ConnectError(Code::kUnauthenticated, "the token is not known here, or was revoked");
  check_not_expired(*found);
  return found->caller;
}

Caller Authenticator::by_proxy(std::string_view name, const Known& known) const {
  const auto found = std::find_if(known.tokens.begin(), known.tokens.end(),
                                  [&](const Token& token) { return token.caller.name == name; });
  if (name.empty()) throw ConnectError(Code::kUnauthenticated, "the proxy names nobody");
  if (found == known.tokens.end() || !found->secret_sha256.empty())
    throw ConnectError(Code::kPermissionDenied, "who the proxy names has no role here");
  check_not_expired(*found);
  return found->caller;
}

}  // namespace writ
