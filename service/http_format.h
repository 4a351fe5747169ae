#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "service/http_message.h"

namespace writ {

/// Where a formatted answer goes.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void append(std::string_view bytes) = 0;
  /// Sends what was appended. False when the client is gone or too slow.
  virtual bool flush() = 0;
  virtual bool alive() = 0;
};

/// How one answer has to look.
struct AnswerForm {
  bool head_only = false;  ///< The request was HEAD.
  bool close = false;      ///< The connection ends after this answer.
  bool chunked = true;     ///< A stream may be chunked; false for HTTP/1.0, where closing ends it.
};

/// Writes answers with cpp-httplib. It is given a head of our own making instead of the client's, so no byte of a
/// client reaches its lenient parser. Safe to call from many threads.
class HttpFormatter {
 public:
  /// `keep_alive` is announced to clients.
  explicit HttpFormatter(std::chrono::seconds keep_alive);
  ~HttpFormatter();

  /// Appends the answer's head and body; a stream is run here and flushed piece by piece. Lets an exception of
  /// the stream through. The answer's content is moved from; its record is not.
  void write(HttpResponse& response, const AnswerForm& form, ByteSink& sink) const;

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace writ
