#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "service/http_message.h"

namespace writ {

/// How one answer has to look.
struct AnswerForm {
  bool head_only = false;  ///< The request was HEAD.
  bool close = false;      ///< The connection ends after this answer.
};

/// Writes answers with cpp-httplib. It is given a head of our own making instead of the client's,
/// so no byte of a client reaches its lenient parser. Safe to call from many threads.
class HttpFormatter {
 public:
  /// `keep_alive` is announced to clients.
  explicit HttpFormatter(std::chrono::seconds keep_alive);
  ~HttpFormatter();

  /// Appends the answer's head and body to `out`. Moves the answer's content out, not its record.
  void write(HttpResponse& response, const AnswerForm& form, std::string* out) const;

  /// Appends the head of an answer whose body follows piece by piece: in chunks, or, when not
  /// `chunked`, until the connection is closed.
  void write_stream_head(HttpResponse& response, const AnswerForm& form, bool chunked,
                         std::string* out) const;

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace writ
