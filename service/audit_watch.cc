#include "service/audit_watch.h"

#include <algorithm>
#include <optional>

#include "service/audit_changes.h"

namespace writ {
namespace {

using audit::v1::WatchChangesRequest;
using audit::v1::WatchChangesResponse;
using Clock = ChangeFeed::Clock;

constexpr std::size_t kChunk = 200;
constexpr std::chrono::seconds kHeartbeat{10};
constexpr std::chrono::seconds kLookAtClient{1};

/// One caller's watch. The methods answer false when it is over.
class Watch {
 public:
  Watch(const WatchSources& sources, const RequestContext& context,
        const WatchChangesRequest& request, MessageStream<WatchChangesResponse>& out)
      : sources_(sources), matcher_(request.filter()), out_(out), deadline_(context.deadline) {
    const Position head = sources_.pool.read(
        context.deadline, [](Connection& connection) { return read_head(connection).position; });
    checked_position(request.filter().from_position(), head, "filter.from_position");
    sent_ = request.has_after_position()
                ? checked_position(request.after_position(), head, "after_position")
                : head;
  }

  void run() {
    const ChangeFeed::Watcher watcher(sources_.feed);
    bool live = false;
    // The first at once: it tells from where on, and brings the head of the answer.
    while (heartbeat()) {
      ChangeFeed::News news = sources_.feed.wait_after(sent_, look_at_client());
      if (!news.behind) {
        live = live || news.up_to > sent_;
        if (!send(news)) return;
      } else if (live) {
        throw ConnectError(Code::kResourceExhausted,
                           "changes come faster than they are read; resume after position " +
                               std::to_string(sent_.value));
      } else if (!catch_up()) {
        return;
      }
    }
  }

 private:
  Clock::time_point look_at_client() const {
    return std::min(deadline_, Clock::now() + kLookAtClient);
  }

  bool heartbeat() {
    if (!out_.alive()) return false;
    if (Clock::now() < next_heartbeat_) return true;
    WatchChangesResponse beat;
    beat.set_position(static_cast<std::uint64_t>(sent_.value));
    return sent(out_.send(beat));
  }

  bool sent(bool going_on) {
    next_heartbeat_ = Clock::now() + kHeartbeat;
    return going_on;
  }

  bool send(const ChangeFeed::News& news) {
    for (const auto& one : news.changes) {
      if (matcher_.wants(one->event) && matcher_.keeps(one->change) &&
          !sent(out_.send(one->response)))
        return false;
      sent_ = one->event.position;
    }
    sent_ = std::max(sent_, news.up_to);
    return true;
  }

  /// One page of what the feed no longer has.
  bool catch_up() {
    HistoryQuery query = matcher_.query();
    query.order = Order::kOldestFirst;
    query.from = {sent_.value + 1};
    query.limit = kChunk;
    std::vector<EventInHistory> events;
    try {
      events = sources_.pool.read(Clock::now() + kHeartbeat, [&](Connection& connection) {
        query.to = read_head(connection).position;
        if (matcher_.has_path())
          sources_.changed_paths.wait_for(query.to, Clock::now() + kHeartbeat);
        return read_history(connection, query);
      });
    } catch (const StorageUnavailable&) {
      return wait_for_database();
    } catch (const DeadlineExceeded&) {
      return wait_for_database();
    } catch (const ReadModelBehind&) {
      return true;
    }
    for (const EventInHistory& one : events) {
      if (matcher_.wants(one.event)) {
        WatchChangesResponse response;
        *response.mutable_change() = to_change(one, "");
        response.set_position(response.change().position());
        if (matcher_.keeps(response.change()) && !sent(out_.send(response))) return false;
      }
      sent_ = one.event.position;
    }
    if (events.size() < kChunk) sent_ = std::max(sent_, query.to);
    return true;
  }

  /// Until somebody, the feed as a rule, has seen it again.
  bool wait_for_database() {
    sources_.feed.wait_after(sent_, look_at_client());
    return true;
  }

  const WatchSources& sources_;
  const ChangeMatcher matcher_;
  MessageStream<WatchChangesResponse>& out_;
  Position sent_;
  const Clock::time_point deadline_;
  Clock::time_point next_heartbeat_ = Clock::now();
};

}  // namespace

void register_watch(Router& router, const WatchSources& sources) {
  router.server_stream<WatchChangesRequest, WatchChangesResponse>(
      find_method(audit::v1::Change::descriptor(), "AuditService", "WatchChanges"),
      [sources](const RequestContext& context, const WatchChangesRequest& request,
                MessageStream<WatchChangesResponse>& out) {
        Watch(sources, context, request, out).run();
      });
}

}  // namespace writ
