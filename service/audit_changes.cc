#include "service/audit_changes.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "events/log_domain.h"
#include "events/sha256.h"
#include "projections/changed_paths.h"
#include "projections/settings.h"
#include "schema/base64.h"
#include "schema/protojson.h"
#include "schema/validate.h"
#include "service/proto_time.h"
#include "service/settings_requests.h"

namespace writ {
namespace {

using audit::v1::Change;
using audit::v1::ChangeFilter;

constexpr std::size_t kDefaultPage = 50;
constexpr std::size_t kLargestPage = 500;
constexpr std::size_t kMostExamined = 10'000;
constexpr std::size_t kChunk = 200;
constexpr std::chrono::seconds kClockTolerance{5};

[[noreturn]] void refuse_field(const std::string& path, const std::string& rule) {
  throw_violations({{path, "invalid " + path + ": " + rule}});
}

bool is_settings(const RecordedEvent& event) {
  return event.stream.value.starts_with(kSettingsStreamPrefix);
}

ScopeKey scope_of(const RecordedEvent& event) {
  return parse_storage_key(
      std::string_view(event.stream.value).substr(kSettingsStreamPrefix.size()));
}

bool is_of_log(const RecordedEvent& event) { return event.stream.value == kLogStream; }

/// `2:POSITION:FILTER:LOG`, in base64.
constexpr std::string_view kCursorStart = "2:";

/// What a cursor is good for: this filter, in this order.
std::string filter_mark(const audit::v1::ListChangesRequest& request) {
  const Digest digest =
      sha256(write_json(request.filter()), request.oldest_first() ? "oldest" : "newest");
  return hex(digest).substr(0, 16);
}

std::string make_cursor(Position examined, const audit::v1::ListChangesRequest& request,
                        const std::string& log_id) {
  std::string text(kCursorStart);
  text += std::to_string(examined.value);
  text += ':';
  text += filter_mark(request);
  text += ':';
  text += log_id;
  return encode_base64(text);
}

/// The last position that the pages before have examined.
std::optional<Position> read_cursor(const audit::v1::ListChangesRequest& request,
                                    const std::string& log_id) {
  if (request.cursor().empty()) return std::nullopt;
  const std::optional<std::string> text = decode_base64(request.cursor());
  Position position;
  if (!text || !text->starts_with(kCursorStart)) refuse_field("cursor", "malformed");
  const char* const end = text->data() + text->size();
  const auto [rest, error] =
      std::from_chars(text->data() + kCursorStart.size(), end, position.value);
  const std::string mark = ":" + filter_mark(request) + ":";
  const std::string_view marks(rest, end);
  if (error != std::errc() || position.value < 0 || marks.size() != mark.size() + log_id.size() ||
      marks.front() != ':' || marks[mark.size() - 1] != ':')
    refuse_field("cursor", "malformed");
  if (!marks.ends_with(log_id)) refuse_field("cursor", "it belongs to another log");
  if (!marks.starts_with(mark)) refuse_field("cursor", "it belongs to another filter or order");
  return position;
}

void bound_positions(Connection& connection, const ChangeMatcher& matcher, Position head,
                     HistoryQuery* query) {
  const ChangeFilter& filter = matcher.filter();
  query->from = {std::max<std::int64_t>(
      checked_position(filter.from_position(), head, "filter.from_position").value, 1)};
  query->to = filter.to_position() == 0
                  ? head
                  : checked_position(filter.to_position(), head, "filter.to_position");
  constexpr std::chrono::microseconds kTick{1};
  if (matcher.since())
    query->from = std::max(query->from,
                           Position{position_at(connection, *matcher.since() - kTick).value + 1});
  if (matcher.until())
    query->to = std::min(query->to, position_at(connection, *matcher.until() - kTick));
}

std::size_t page_size(const audit::v1::ListChangesRequest& request) {
  if (request.page_size() > kLargestPage)
    refuse_field("page_size", "must be at most " + std::to_string(kLargestPage));
  return request.page_size() == 0 ? kDefaultPage : request.page_size();
}

}  // namespace

Position checked_position(std::uint64_t position, Position head, const std::string& path) {
  if (position > static_cast<std::uint64_t>(head.value))
    throw ConnectError(Code::kOutOfRange, "invalid " + path + ": position " +
                                              std::to_string(position) +
                                              " is in the future; the log is at position " +
                                              std::to_string(head.value));
  return {static_cast<std::int64_t>(position)};
}

Timestamp checked_time(const google::protobuf::Timestamp& time, const std::string& path) {
  const Timestamp checked = from_proto(time, path);
  // In microseconds: the years that the clock's nanoseconds can tell end in 2262.
  if (checked > std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now()) +
                    kClockTolerance)
    throw ConnectError(Code::kOutOfRange,
                       "invalid " + path + ": " + format_timestamp(checked) + " is in the future");
  return checked;
}

std::map<std::string, std::string> detail_of(const RecordedEvent& event) {
  google::protobuf::Struct envelope;
  if (const auto read = read_json(event.envelope, &envelope, JsonMode::kStored); read.error)
    throw CorruptLog("the envelope at position " + std::to_string(event.position.value) +
                     " cannot be read: " + read.error->message());
  std::map<std::string, std::string> detail;
  for (const auto& [name, value] : envelope.fields().at("detail").struct_value().fields())
    detail[name] = value.string_value();
  return detail;
}

bool is_change(const RecordedEvent& event) { return is_settings(event) || is_of_log(event); }

Change to_change(const EventInHistory& one, const std::string& org) {
  const RecordedEvent& event = one.event;
  Change change;
  change.set_position(static_cast<std::uint64_t>(event.position.value));
  if (is_settings(event)) *change.mutable_key() = settings_key(scope_of(event), org);
  change.set_version(static_cast<std::uint64_t>(event.version.value));
  change.set_type(event.type);
  change.set_actor(event.actor);
  change.set_reason(event.reason);
  *change.mutable_time() = to_proto(event.recorded_at);
  change.set_request_id(event.request_id);
  change.set_command_id(event.command_id);
  for (const auto& [name, value] : detail_of(event)) (*change.mutable_detail())[name] = value;
  change.set_erased(!event.payload || (one.previous.value != 0 && !one.previous_payload));
  if (change.erased() || !is_settings(event)) return change;
  for (audit::v1::LeafChange& leaf : leaf_changes(one)) *change.add_leaves() = std::move(leaf);
  return change;
}

ChangeMatcher::ChangeMatcher(const ChangeFilter& filter) : filter_(filter) {
  if (filter.has_key()) {
    refuse(validate_key(&filter.key()));
    key_ = scope_key(filter.key());
  } else if (filter.below()) {
    refuse_field("filter.below", "needs a key");
  }
  if (filter.actor().size() > kMaxActorBytes)
    refuse_field("filter.actor", "must be at most 256 bytes");
  if (filter.actor().find('\0') != std::string::npos)
    refuse_field("filter.actor", "must not contain U+0000");
  if (filter.path().find('\0') != std::string::npos)
    refuse_field("filter.path", "must not contain U+0000");
  try {
    path_ = PathFilter(filter.path());
  } catch (const std::invalid_argument& e) {
    refuse({{"filter.path", e.what()}});
  }
  if (filter.has_since()) since_ = checked_time(filter.since(), "filter.since");
  if (filter.has_until()) until_ = from_proto(filter.until(), "filter.until");
}

bool ChangeMatcher::covers(const ScopeKey& key) const {
  if (!key_ || key == *key_) return true;
  if (!filter_.below()) return false;
  switch (key_->scope()) {
    case Scope::kInstance:
      return true;
    case Scope::kDomain:
      return key.domain == key_->domain;
    case Scope::kProject:
      return false;
  }
  return false;
}

bool ChangeMatcher::covers(const RecordedEvent& event) const {
  if (is_settings(event)) return covers(scope_of(event));
  // An event about the log is of no record and no setting.
  return is_of_log(event) && !key_ && !has_path();
}

bool ChangeMatcher::wants(const RecordedEvent& event) const {
  const auto position = static_cast<std::uint64_t>(event.position.value);
  return covers(event) && (filter_.actor().empty() || event.actor == filter_.actor()) &&
         (!since_ || event.recorded_at >= *since_) && (!until_ || event.recorded_at < *until_) &&
         position >= filter_.from_position() &&
         (filter_.to_position() == 0 || position <= filter_.to_position());
}

bool ChangeMatcher::keeps(const Change& change) const {
  return !has_path() || change.erased() ||
         std::ranges::any_of(change.leaves(),
                             [&](const auto& leaf) { return path_.matches(leaf.path()); });
}

HistoryQuery ChangeMatcher::query() const {
  using By = HistoryQuery::By;
  HistoryQuery query;
  const bool one_record = key_ && (!filter_.below() || key_->scope() == Scope::kProject);
  if (one_record) query.stream = settings_stream(*key_).value;
  if (has_path()) {
    query.by = one_record ? By::kStreamPaths : By::kPaths;
    query.values = path_.index_paths();
  } else if (one_record) {
    query.by = By::kStream;
    query.values = {query.stream};
  } else if (!filter_.actor().empty()) {
    query.by = By::kActor;
    query.values = {filter_.actor()};
  } else if (key_ && key_->scope() == Scope::kDomain) {
    query.by = By::kDomain;
    query.values = {key_->domain};
  }
  return query;
}

audit::v1::ListChangesResponse list_changes(Connection& connection,
                                            const audit::v1::ListChangesRequest& request,
                                            const ChangeMatcher& matcher) {
  const std::size_t wanted = page_size(request);
  const LogHead head = read_head(connection);
  const std::optional<Position> examined_before = read_cursor(request, head.log_id);
  HistoryQuery query = matcher.query();
  query.order = request.oldest_first() ? Order::kOldestFirst : Order::kNewestFirst;
  query.limit = kChunk;
  bound_positions(connection, matcher, head.position, &query);
  Position& bound = request.oldest_first() ? query.from : query.to;
  const std::int64_t step = request.oldest_first() ? 1 : -1;
  if (examined_before)
    bound = request.oldest_first() ? std::max(bound, Position{examined_before->value + step})
                                   : std::min(bound, Position{examined_before->value + step});
  audit::v1::ListChangesResponse response;
  for (std::size_t examined = 0; examined < kMostExamined;) {
    const std::vector<EventInHistory> events = read_history(connection, query);
    for (const EventInHistory& one : events) {
      ++examined;
      bound = {one.event.position.value + step};
      if (!matcher.wants(one.event)) continue;
      Change change = to_change(one, request.filter().key().org());
      if (!matcher.keeps(change)) continue;
      *response.add_changes() = std::move(change);
      if (static_cast<std::size_t>(response.changes_size()) == wanted) {
        response.set_next_cursor(make_cursor(one.event.position, request, head.log_id));
        return response;
      }
    }
    if (events.size() < query.limit) return response;
  }
  response.set_next_cursor(make_cursor({bound.value - step}, request, head.log_id));
  return response;
}

}  // namespace writ
