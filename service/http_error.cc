#include "service/http_error.h"

#include <array>
#include <ctime>

#include "service/json_text.h"

namespace writ {
namespace {

std::string_view code_for(int status) {
  switch (status) {
    case 408:
      return "deadline_exceeded";
    case 413:
    case 414:
    case 431:
      return "resource_exhausted";
    case 417:
    case 501:
    case 505:
      return "unimplemented";
    case 500:
      return "internal";
    case 503:
      return "unavailable";
    default:
      return "invalid_argument";
  }
}

}  // namespace

void fill_error(int status, std::string_view message, HttpResponse& response) {
  response.status = status;
  response.content_type = "application/json";
  response.body = error_json(code_for(status), message);
  response.record.code = code_for(status);
}

const std::string& date_text() {
  thread_local std::time_t made = 0;
  thread_local std::string text;
  const std::time_t now = std::time(nullptr);
  if (now != made) {
    std::tm utc{};
    gmtime_r(&now, &utc);
    std::array<char, 32> buffer{};
    const std::size_t size =
        std::strftime(buffer.data(), buffer.size(), "%a, %d %b %Y %H:%M:%S GMT", &utc);
    text.assign(buffer.data(), size);
    made = now;
  }
  return text;
}

}  // namespace writ
