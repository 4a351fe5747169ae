#include "service/proto_time.h"

#include "service/settings_requests.h"

namespace writ {

google::protobuf::Timestamp to_proto(Timestamp time) {
  google::protobuf::Timestamp out;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  out.set_seconds(seconds.time_since_epoch().count());
  out.set_nanos(static_cast<int>((time - seconds).count()) * 1000);
  return out;
}

Timestamp from_proto(const google::protobuf::Timestamp& time, const std::string& path) {
  constexpr std::int64_t kYear1 = -62'135'596'800, kYear10000 = 253'402'300'800;
  if (time.seconds() < kYear1 || time.seconds() >= kYear10000 || time.nanos() < 0 ||
      time.nanos() > 999'999'999)
    throw_violations({{path, "invalid " + path + ": must be a time of the years 1 to 9999"}});
  return Timestamp(std::chrono::microseconds(time.seconds() * 1'000'000 + time.nanos() / 1000));
}

}  // namespace writ
