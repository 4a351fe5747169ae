#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "flyteidl2/settings/settings_service.pb.h"
#include "service/connect.h"

namespace writ::fuzz {

/// A router without a server that has one method, GetSettings, and remembers what it was asked.
class SettingsRouter {
 public:
  static constexpr std::string_view kPath = "/flyteidl2.settings.SettingsService/GetSettings";

  explicit SettingsRouter(std::size_t max_message_bytes);

  /// Answers a request for `kPath`; checks what every answer promises.
  HttpResponse answer(HttpRequest request);

  /// What the method was asked by the last request; nothing when it was not called.
  const std::optional<flyteidl2::settings::GetSettingsRequest>& asked() const { return asked_; }

 private:
  Router router_;
  std::optional<flyteidl2::settings::GetSettingsRequest> asked_;
};

}  // namespace writ::fuzz
