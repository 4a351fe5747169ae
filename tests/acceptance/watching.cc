#include "tests/acceptance/watching.h"

#include <algorithm>

namespace writ::test {
namespace {

constexpr std::chrono::minutes kPatience{1};

std::string envelope(const std::string& data) {
  std::string out(1, '\0');
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>(data.size() >> shift & 0xff);
  return out + data;
}

std::size_t size_in(std::string_view envelope) {
  std::size_t size = 0;
  for (std::size_t i = 1; i <= 4; ++i) size = size << 8 | static_cast<unsigned char>(envelope[i]);
  return size;
}

}  // namespace

/// Says at its end that the call is over, however that came.
struct Watch::Over {
  Watch& watch;
  ~Over() {
    const std::scoped_lock lock(watch.mutex_);
    watch.over_ = true;
    watch.changed_.notify_all();
  }
};

Watch::Watch(std::uint16_t port, long after, Json filter, const HttpFields& headers)
    : client_(port) {
  told_.resume = std::max(after, 0L);
  Json request = Json::object({{"filter", std::move(filter)}});
  if (after >= 0) request["afterPosition"] = std::to_string(after);
  running_ = std::async(std::launch::async, [this, headers, body = envelope(request.dump())] {
    const Over over{*this};
    client_.stream(
        "/writ.audit.v1.AuditService/WatchChanges", "application/connect+json", body,
        [this](std::string_view bytes) { return take(bytes); }, headers);
  });
}

Watch::~Watch() { break_off(); }

bool Watch::take(std::string_view bytes) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !paused_ || allowed_ > 0; });
  rest_ += bytes;
  std::size_t at = 0;
  while (rest_.size() >= at + 5) {
    const std::size_t end = at + 5 + size_in(std::string_view(rest_).substr(at));
    if (rest_.size() < end) break;
    take_message(static_cast<std::uint8_t>(rest_[at]), rest_.substr(at + 5, end - at - 5));
    at = end;
    if (allowed_ > 0) --allowed_;
  }
  rest_.erase(0, at);
  changed_.notify_all();
  return true;
}

void Watch::take_message(std::uint8_t flags, std::string text) {
  if (flags == 2) {
    const Json json = Json::parse(text);
    if (const Json* error = json.find("error")) {
      told_.code = error->at("code").text();
      if (const Json* message = error->find("message")) told_.message = message->text();
    }
    return;
  }
  told_.begun = true;
  // Not parsed, for it may be large. The position is last; 0 is left out.
  constexpr std::string_view kPosition = "\"position\":\"";
  const std::size_t at = text.rfind(kPosition);
  told_.resume = at == std::string::npos ? 0 : std::stol(text.substr(at + kPosition.size()));
  if (!text.starts_with("{\"change\":")) return;
  told_.positions.push_back(told_.resume);
  told_.changes.push_back(std::move(text));
}

void Watch::set_paused(bool paused) {
  const std::scoped_lock lock(mutex_);
  paused_ = paused;
  changed_.notify_all();
}

void Watch::take_one() {
  const std::scoped_lock lock(mutex_);
  ++allowed_;
  changed_.notify_all();
}

bool Watch::until(const Condition& enough) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kPatience, [&] { return over_ || enough(told_); });
  return enough(told_);
}

Watched Watch::so_far() const {
  const std::scoped_lock lock(mutex_);
  return told_;
}

bool Watch::over() const {
  const std::scoped_lock lock(mutex_);
  return over_;
}

Watched Watch::end() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return over_; });
  }
  return stop();
}

void Watch::break_off() {
  go_on();
  // Said again, for a call that was still connecting does not hear of it.
  while (!over()) {
    client_.stop();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(10), [&] { return over_; });
  }
}

Watched Watch::stop() {
  break_off();
  if (running_.valid()) running_.get();
  return so_far();
}

}  // namespace writ::test
