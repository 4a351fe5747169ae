#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "service/address_range.h"
#include "service/connect.h"
#include "service/token_file.h"

namespace writ {

/// How callers are told apart.
struct IdentityOptions {
  std::filesystem::path token_file;
  /// The header in which an authenticating proxy names the caller; empty: there is none.
  std::string actor_header;
  std::vector<AddressRange> trusted_proxies;  ///< Who is believed about that header.
};

/// Says who sent a request. Without a token file and a proxy everybody is `anonymous` and may do
/// everything; once the file has been seen, or with a proxy, only who is in it gets in, also when
/// it is gone again. The file is looked at again within a quarter of a second after it changed; one
/// that cannot be read lets nobody in. Thread-safe.
class Authenticator {
 public:
  /// `warn` is told once when the file becomes unusable and when authentication begins.
  Authenticator(IdentityOptions options, std::function<void(const std::string&)> warn);

  /// The caller: by the bearer token, else by the name that a trusted proxy gives. Throws
  /// unauthenticated when there is neither or it is not valid, permission_denied for a name without
  /// a role, unavailable while the file cannot be read.
  Caller identify(const HttpRequest& request) const;

  /// Why nobody can be let in now; "" when all is well.
  std::string trouble() const { return known()->error; }

  /// Whether everybody is let in.
  bool anonymous() const { return known()->anonymous; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Known {
    std::vector<Token> tokens;
    std::string error;                              // why the file cannot be used
    std::pair<std::int64_t, std::int64_t> changed;  // seconds and nanoseconds
    std::uint64_t inode = 0;
    bool exists = false;
    bool anonymous = false;  // nobody has to say who they are; never again once that has ended
  };

  std::shared_ptr<const Known> known() const;
  std::shared_ptr<const Known> look(const Known* before) const;
  Caller by_secret(std::string_view secret, const Known& known) const;
  Caller by_proxy(std::string_view name, const Known& known) const;

  const IdentityOptions options_;
  const std::function<void(const std::string&)> warn_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Known> known_;
  mutable Clock::time_point look_again_;
};

}  // namespace writ
