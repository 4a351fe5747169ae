#include "events/envelope.h"

#include "events/canonical_json.h"

namespace writ {
namespace {

void append_field(std::string& out, std::string_view name, std::string_view text) {
  out += ",\"";
  out += name;
  out += "\":";
  append_json_string(out, text);
}

void append_field(std::string& out, std::string_view name, std::int64_t number) {
  out += ",\"";
  out += name;
  out += "\":";
  out += std::to_string(number);
}

}  // namespace

std::string canonical_envelope(const Envelope& envelope) {
  std::string out;
  out.reserve(512);
  out += R"({"v":1)";
  append_field(out, "log", envelope.log);
  append_field(out, "position", envelope.position.value);
  append_field(out, "stream", envelope.stream.value);
  append_field(out, "version", envelope.version.value);
  append_field(out, "type", envelope.type);
  append_field(out, "time", format_timestamp(envelope.time));
  append_field(out, "actor", envelope.actor);
  append_field(out, "reason", envelope.reason);
  append_field(out, "command", envelope.command);
  append_field(out, "request", envelope.request);
  out += R"(,"detail":{)";
  for (const auto& [key, value] : envelope.detail) {
    if (out.back() != '{') out += ',';
    append_json_string(out, key);
    out += ':';
    append_json_string(out, value);
  }
  out += '}';
  append_field(out, "payload_hash", envelope.payload_hash);
  append_field(out, "prev", envelope.prev);
  out += '}';
  return out;
}

Digest payload_hash(std::string_view salt, std::string_view payload) {
  return sha256(salt, payload);
}

Digest leaf_hash(std::string_view envelope) { return sha256(std::string_view("\0", 1), envelope); }

}  // namespace writ
