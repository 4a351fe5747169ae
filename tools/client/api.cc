#include "tools/client/api.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/struct.pb.h>
#include <httplib.h>

#include <iostream>
#include <random>
#include <string_view>

#include "google/rpc/error_details.pb.h"
#include "schema/base64.h"
#include "schema/protojson.h"
#include "schema/quote.h"
#include "schema/utf8.h"
#include "service/envelope.h"
#include "service/json_text.h"
#include "tools/client/printable.h"

namespace writ::client {
namespace {

namespace pb = google::protobuf;

constexpr int kTries = 3;
constexpr std::chrono::seconds kConnectTime{5};
/// Beyond the server's own limit for an answer, and beyond three heartbeats of a stream.
constexpr std::chrono::seconds kAnswerTime{40};
constexpr std::size_t kLongestReason = 4096;
constexpr int kOk = 200;

struct Address {
  std::string origin;  // scheme://host:port
  std::string prefix;  // path in front of the methods' own
};

Address parse_url(const std::string& url) {
  const auto wrong = [&](const std::string& why) {
    return UsageError(quote(url) + " is no server's URL: " + why);
  };
  const std::size_t scheme = url.find("://");
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    throw wrong("it must begin with http:// or https://");
  const std::size_t path = std::min(url.find('/', scheme + 3), url.size());
  const std::string authority = url.substr(scheme + 3, path - scheme - 3);
  if (authority.empty()) throw wrong("it names no host");
  if (authority.find('@') != std::string::npos)
    throw wrong("give the token as WRIT_TOKEN, not in the URL");
  if (url.find_first_of("?# \t\r\n") != std::string::npos)
    throw wrong("only a host, a port and a path may be in it");
  Address address{url.substr(0, path), url.substr(path)};
  while (address.prefix.ends_with('/')) address.prefix.pop_back();
  return address;
}

const pb::MethodDescriptor& method_of(const pb::Message& request) {
  const pb::Descriptor* type = request.GetDescriptor();
  for (int i = 0; i < type->file()->service_count(); ++i) {
    const pb::ServiceDescriptor* service = type->file()->service(i);
    for (int j = 0; j < service->method_count(); ++j)
      if (service->method(j)->input_type() == type) return *service->method(j);
  }
  throw std::logic_error("no method takes " + type->full_name());
}

/// Whether a call may have changed the log. What is streamed never does.
bool may_change(const pb::MethodDescriptor& method) {
  return !method.server_streaming() &&
         method.options().idempotency_level() != pb::MethodOptions::NO_SIDE_EFFECTS;
}

/// 128 random bits in hex.
std::string new_key() {
  std::random_device random;
  std::string key;
  for (int i = 0; i < 32; ++i) key += "0123456789abcdef"[random() & 15u];
  return key;
}

const pb::Value* member(const pb::Struct& object, const char* name) {
  const auto found = object.fields().find(name);
  return found == object.fields().end() ? nullptr : &found->second;
}

void read_detail(const pb::Struct& detail, Refusal* refusal) {
  const pb::Value* type = member(detail, "type");
  const pb::Value* value = member(detail, "value");
  if (type == nullptr || value == nullptr) return;
  const std::optional<std::string> bytes = decode_base64(value->string_value());
  if (!bytes) return;
  if (google::rpc::BadRequest bad;
      type->string_value() == bad.GetTypeName() && bad.ParseFromString(*bytes)) {
    for (const auto& violation : bad.field_violations()) {
      refusal->violations.push_back(violation.description());
      if (violation.field() == "reason") refusal->lacks_reason = true;
    }
  }
  if (settings::v1::VersionConflict conflict;
      type->string_value() == conflict.GetTypeName() && conflict.ParseFromString(*bytes))
    refusal->conflict = conflict;
}

std::optional<Refusal> read_error(const pb::Struct& error) {
  const pb::Value* code = member(error, "code");
  if (code == nullptr || code->string_value().empty()) return std::nullopt;
  Refusal refusal;
  refusal.code = code->string_value();
  if (const pb::Value* message = member(error, "message"))
    refusal.message = message->string_value();
  if (refusal.message.empty()) refusal.message = refusal.code;
  if (const pb::Value* details = member(error, "details"))
    for (const pb::Value& detail : details->list_value().values())
      read_detail(detail.struct_value(), &refusal);
  return refusal;
}

std::optional<pb::Struct> read_object(std::string_view json) {
  pb::Struct object;
  if (read_json(json, &object, JsonMode::kStored).error) return std::nullopt;
  return object;
}

/// Cuts messages out of a Connect stream as it arrives.
class StreamReader {
 public:
  StreamReader(pb::Message* message, const std::function<bool()>& take)
      : message_(message), take_(take) {}

  /// False when nothing more is wanted.
  bool add(std::string_view bytes) {
    buffer_ += bytes;
    std::string_view rest = buffer_;
    bool more = true;
    while (more) {
      const std::optional<Envelope> envelope = take_envelope(&rest);
      if (!envelope) break;
      more = read(*envelope);
    }
    buffer_.erase(0, buffer_.size() - rest.size());
    return more;
  }

  bool ended() const { return ended_; }
  bool unwanted() const { return unwanted_; }
  const std::optional<Refusal>& error() const { return error_; }

 private:
  bool read(const Envelope& envelope) {
    if (envelope.flags == kConnectEndFlag) {
      ended_ = true;
      const std::optional<pb::Struct> end = read_object(envelope.data);
      const pb::Value* error = end ? member(*end, "error") : nullptr;
      if (error != nullptr) error_ = read_error(error->struct_value());
      return false;
    }
    if (envelope.flags != 0 ||
        !message_->ParseFromArray(envelope.data.data(), static_cast<int>(envelope.data.size()))) {
      error_ = Refusal{"internal", "the server sent a message that cannot be read", {}, {}};
      return false;
    }
    unwanted_ = !take_();
    return !unwanted_;
  }

  pb::Message* message_;
  const std::function<bool()>& take_;
  std::string buffer_;
  bool ended_ = false, unwanted_ = false;
  std::optional<Refusal> error_;
};

}  // namespace

bool Refused::is_conflict() const { return refusal_.conflict || refusal_.code == "already_exists"; }

struct Api::Connection {
  Connection(const Address& address, std::string url_in)
      : client(address.origin), prefix(address.prefix), url(std::move(url_in)) {
    if (!client.is_valid()) throw UsageError(quote(url) + " is no server's URL");
    client.set_keep_alive(true);
    client.set_tcp_nodelay(true);
    client.set_connection_timeout(kConnectTime);
    client.set_read_timeout(kAnswerTime);
    client.set_write_timeout(kAnswerTime);
  }

  httplib::Request request(const pb::Message& message, bool streaming) const {
    const pb::MethodDescriptor& method = method_of(message);
    httplib::Request out;
    out.method = "POST";
    out.path = prefix + "/" + method.service()->full_name() + "/" + method.name();
    out.headers = headers;
    out.set_header("Connect-Protocol-Version", "1");
    out.set_header("Content-Type", streaming ? "application/connect+proto" : "application/proto");
    const std::string bytes = message.SerializeAsString();
    if (streaming)
      append_envelope(0, bytes, &out.body);
    else
      out.body = bytes;
    return out;
  }

  [[noreturn]] void fail(const pb::Message& message, httplib::Error error) const {
    if (error == httplib::Error::Connection || error == httplib::Error::BindIPAddress ||
        error == httplib::Error::ConnectionTimeout)
      throw Unreachable("no server answers at " + url +
                        "; start one with `writ serve`, or name another with --url or WRIT_URL");
    if (error == httplib::Error::SSLConnection || error == httplib::Error::SSLServerVerification ||
        error == httplib::Error::SSLLoadingCerts)
      throw Unreachable("cannot speak TLS with " + url + ": " + httplib::to_string(error));
    throw ConnectionLost("the connection to " + url + " was lost before the answer came (" +
                         httplib::to_string(error) + "); " +
                         (may_change(method_of(message))
                              ? "a change may have been made: see `writ log`"
                              : "run the command again"));
  }

  /// What an answer that is no message says.
  [[noreturn]] void refuse(const httplib::Response& response, const std::string& body) const {
    if (const auto object = read_object(body))
      if (auto refusal = read_error(*object)) throw Refused(std::move(*refusal));
    throw Unreachable("what answers at " + url + " is no Writ: HTTP status " +
                      std::to_string(response.status) +
                      " where a method of its API should be; is the URL right?");
  }

  static void show_warnings(const httplib::Response& response) {
    for (std::size_t i = 0; i < response.get_header_value_count("Warning"); ++i) {
      std::string text = response.get_header_value("Warning", i);
      if (text.starts_with("299 - ")) text.erase(0, 6);
      std::cerr << "writ: warning of the server: " << printable(text) << std::endl;
    }
  }

  httplib::Client client;
  std::string prefix, url;
  httplib::Headers headers;
};

Api::Api(const Server& server)
    : url_(server.url),
      connection_(std::make_unique<Connection>(parse_url(server.url), server.url)) {
  connection_->headers.emplace("User-Agent", "writ");
  if (server.token.empty()) return;
  for (const unsigned char c : server.token)
    if (c <= ' ' || c >= 0x7f)
      throw UsageError("WRIT_TOKEN is no token: it must have no blanks in it and be ASCII");
  connection_->headers.emplace("Authorization", "Bearer " + server.token);
}

Api::~Api() = default;

void Api::set_reason(const std::string& reason) {
  if (reason.size() > kLongestReason)
    throw UsageError("the reason is too long: at most 4096 bytes");
  if (!is_utf8(reason)) throw UsageError("the reason is not UTF-8");
  for (const unsigned char c : reason)
    if (c < ' ' || c == 0x7f) throw UsageError("the reason must be one line");
  connection_->headers.erase("Writ-Reason");
  if (!reason.empty()) connection_->headers.emplace("Writ-Reason", reason);
}

void Api::call(const pb::Message& request, pb::Message* response) {
  httplib::Request http = connection_->request(request, false);
  http.set_header("Idempotency-Key", new_key());
  for (int attempt = 1;; ++attempt) {
    const httplib::Result result = connection_->client.send(http);
    if (!result) {
      if (result.error() == httplib::Error::Read && attempt < kTries) continue;
      connection_->fail(request, result.error());
    }
    if (result->status != kOk || result->get_header_value("Content-Type") != "application/proto")
      connection_->refuse(*result, result->body);
    if (!response->ParseFromString(result->body))
      throw Unreachable("the server at " + url_ + " sent a message that cannot be read");
    Connection::show_warnings(*result);
    return;
  }
}

void Api::stream(const pb::Message& request, pb::Message* response,
                 const std::function<bool()>& take) {
  httplib::Request http = connection_->request(request, true);
  StreamReader reader(response, take);
  httplib::Response head;
  bool is_stream = false;
  std::string other;
  http.response_handler = [&](const httplib::Response& got) {
    head = got;
    is_stream =
        got.status == kOk && got.get_header_value("Content-Type") == "application/connect+proto";
    return true;
  };
  http.content_receiver = [&](const char* data, std::size_t size, std::uint64_t, std::uint64_t) {
    if (is_stream) return reader.add({data, size});
    other.append(data, size);
    return true;
  };
  const httplib::Result result = connection_->client.send(http);
  if (reader.error()) throw Refused(*reader.error());
  if (reader.ended() || reader.unwanted()) return;
  if (head.status != 0 && !is_stream && result) connection_->refuse(head, other);
  connection_->fail(request, result ? httplib::Error::Read : result.error());
}

void Api::stop() { connection_->client.stop(); }

}  // namespace writ::client
