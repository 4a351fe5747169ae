#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace writ::test {

/// An HTTP server between the command line and Writ: it passes requests on, shows them to the test,
/// and lets the test do something first or answer instead. It keeps tokens for itself.
class MiddleMan {
 public:
  struct Request {
    std::string path;
    std::multimap<std::string, std::string> headers;
    std::string body;

    std::string header(const std::string& name) const;
  };
  struct Answer {
    int status = 200;
    std::string type, body;
    std::multimap<std::string, std::string> headers;
    bool lost = false;  ///< Passed on, and the answer never reaches the client.
  };
  /// Called with each request before it is passed on. An answer with a `type` is given instead.
  using Before = std::function<Answer(const Request&)>;

  MiddleMan(std::uint16_t port_of_writ, Before before);
  ~MiddleMan();
  std::string url() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace writ::test
