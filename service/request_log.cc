#include "service/request_log.h"

#include <array>
#include <charconv>

#include "service/json_text.h"

namespace writ {
namespace {

constexpr int kDecimals = 3;

void append_text(std::string_view name, std::string_view value, std::string* out) {
  out->push_back(out->empty() ? '{' : ',');
  append_json_string(name, out);
  out->push_back(':');
  append_json_string(value, out);
}

void append_number(std::string_view name, std::string_view digits, std::string* out) {
  out->push_back(',');
  append_json_string(name, out);
  out->append(":").append(digits);
}

std::string milliseconds_text(std::chrono::nanoseconds time) {
  std::array<char, 32> text{};
  const double ms = std::chrono::duration<double, std::milli>(time).count();
  const auto result = std::to_chars(text.data(), text.data() + text.size(), ms,
                                    std::chars_format::fixed, kDecimals);
  return {text.data(), result.ptr};
}

}  // namespace

std::string request_line(const RequestRecord& record) {
  std::string out;
  append_text("method", record.method, &out);
  append_text("route", record.route, &out);
  append_text("code", record.code, &out);
  append_number("status", std::to_string(record.status), &out);
  append_number("ms", milliseconds_text(record.duration), &out);
  append_text("actor", record.actor, &out);
  append_text("key", record.key, &out);
  append_text("request_id", record.request_id, &out);
  append_text("peer", record.peer, &out);
  append_number("in", std::to_string(record.request_bytes), &out);
  append_number("out", std::to_string(record.response_bytes), &out);
  return out.append("}");
}

}  // namespace writ
