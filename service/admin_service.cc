#include "service/admin_service.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>

#include "events/connection.h"
#include "events/erasure.h"
#include "events/errors.h"
#include "events/history.h"
#include "projections/changed_paths_check.h"
#include "projections/export.h"
#include "projections/read_models.h"
#include "projections/rebuild.h"
#include "projections/verify.h"
#include "service/settings_requests.h"
#include "writ/admin/v1/admin.pb.h"

namespace writ {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kProgressPause{200};
constexpr std::chrono::seconds kSigningPatience{10};
constexpr int kMostAtOnce = 2;
constexpr std::size_t kErasureBytes = 2048;  // what one takes in memory
constexpr std::size_t kLinesBytes = 256 * 1024;

std::uint64_t number(std::int64_t value) { return static_cast<std::uint64_t>(value); }
std::uint64_t number(Position position) { return number(position.value); }
std::string bytes(const Digest& digest) { return std::string(bytes_of(digest)); }

/// Thrown out of a piece of work nobody waits for any longer.
struct CallerGone {};

/// Counts the long pieces of work that go on.
class Slot {
 public:
  explicit Slot(std::atomic<int>& taken) : taken_(taken) {
    if (++taken_ <= kMostAtOnce) return;
    --taken_;
    throw ConnectError(Code::kResourceExhausted,
                       "two rebuilds, verifications or exports are going on already; try again "
                       "when one is through");
  }
  ~Slot() { --taken_; }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

 private:
  std::atomic<int>& taken_;
};

/// Sends progress, not too often, and notices when nobody is there.
template <class Response>
class Teller {
 public:
  explicit Teller(MessageStream<Response>& out) : out_(out) {}

  void tell(const std::string& part, std::int64_t done, std::int64_t total) {
    if (Clock::now() < next_) return;
    next_ = Clock::now() + kProgressPause;
    Response response;
    response.mutable_progress()->set_part(part);
    response.mutable_progress()->set_done(number(done));
    response.mutable_progress()->set_total(number(total));
    send(response);
  }

  void send(const Response& response) {
    if (!out_.send(response)) throw CallerGone();
  }

 private:
  MessageStream<Response>& out_;
  Clock::time_point next_{};
};

/// Runs one long piece of work. What an administrator has to know of a failure is told.
void long_work(std::atomic<int>& taken, const std::function<void()>& work) {
  const Slot slot(taken);
  try {
    work();
  } catch (const CallerGone&) {
  } catch (const ConnectionLost&) {
    throw;
  } catch (const StorageUnavailable& e) {
    throw ConnectError(Code::kUnavailable, e.what());
  } catch (const CorruptLog& e) {
    throw ConnectError(Code::kDataLoss, e.what());
  }
}

void rebuild_model(const std::string& conninfo, const admin::v1::RebuildRequest& request,
                   MessageStream<admin::v1::RebuildResponse>& out) {
  const std::string& name = request.projection();
  if (std::ranges::find(kRebuildable, name) == std::end(kRebuildable))
    refuse({{"projection", "invalid projection: there are settings and changed_paths"}});
  Teller<admin::v1::RebuildResponse> teller(out);
  const WorkProgress progress = [&](std::int64_t done, std::int64_t total) {
    teller.tell(name, done, total);
  };
  const RebuildResult result = name == "changed_paths"
                                   ? rebuild_changed_paths(conninfo, progress)
                                   : rebuild(conninfo, settings_model(), progress);
  admin::v1::RebuildResponse last;
  last.mutable_result()->set_position(number(result.events));
  last.mutable_result()->set_rows(number(result.rows));
  teller.send(last);
}

void verify_index(const std::string& conninfo, MessageStream<admin::v1::VerifyResponse>& out) {
  Teller<admin::v1::VerifyResponse> teller(out);
  admin::v1::VerifyResponse last;
  admin::v1::VerifyResult& told = *last.mutable_result();
  try {
    const CheckedIndex checked = check_changed_paths(
        conninfo,
        [&](std::int64_t done, std::int64_t total) { teller.tell("changed_paths", done, total); });
    told.set_position(number(checked.position));
    told.set_rows(number(checked.rows));
  } catch (const CorruptLog& e) {
    told.set_finding(e.what());
  }
  teller.send(last);
}

void verify_log(const std::string& conninfo, const admin::v1::VerifyRequest& request,
                MessageStream<admin::v1::VerifyResponse>& out) {
  if (request.projection() == "changed_paths" && request.from_position() == 0)
    return verify_index(conninfo, out);
  if (!request.projection().empty())
    refuse({{"projection", "invalid projection: there is changed_paths, without a from_position"}});
  std::optional<VerifiedBefore> before;
  if (request.from_position() > 0) {
    constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
    if (request.from_position() > kLargest || request.from_root().size() != sizeof(Digest))
      refuse({{"from_root", "invalid from_root: the tree's root there, 32 bytes"}});
    before = {{static_cast<std::int64_t>(request.from_position())}, to_digest(request.from_root())};
  }
  Teller<admin::v1::VerifyResponse> teller(out);
  admin::v1::VerifyResponse last;
  admin::v1::VerifyResult& told = *last.mutable_result();
  try {
    const VerifyResult result = verify(
        conninfo, before, [&](const std::string& part, std::int64_t done, std::int64_t total) {
          teller.tell(part, done, total);
        });
    told.set_position(number(result.position));
    told.set_root(bytes(result.root));
    told.set_rows(number(result.rows));
    told.set_log_id(result.log_id);
  } catch (const CorruptLog& e) {
    told.set_finding(e.what());
  }
  teller.send(last);
}

void export_lines(const AdminSources& sources, const admin::v1::ExportRequest& request,
                  MessageStream<admin::v1::ExportResponse>& out) {
  if (request.checkpoint()) static_cast<void>(sources.checkpoints.verifier_keys());  // or refuses
  Teller<admin::v1::ExportResponse> teller(out);
  admin::v1::ExportResponse gathered;
  const auto flush = [&] {
    if (!gathered.lines().empty()) teller.send(gathered);
    gathered.clear_lines();
  };
  const ExportResult result = export_log(
      sources.conninfo,
      [&](std::string_view lines) {
        gathered.mutable_lines()->append(lines);
        if (gathered.lines().size() >= kLinesBytes) flush();
      },
      [&](const std::string& part, std::int64_t done, std::int64_t total) {
        teller.tell(part, done, total);
      });
  flush();
  admin::v1::ExportResponse last;
  last.mutable_result()->set_position(number(result.position));
  last.mutable_result()->set_root(bytes(result.root));
  last.mutable_result()->set_rows(number(result.rows));
  if (request.checkpoint())
    last.mutable_result()->set_checkpoint(
        sources.checkpoints.of(result.position, result.root, Clock::now() + kSigningPatience).note);
  teller.send(last);
}

[[noreturn]] void throw_refused(ErasureRefused why, const std::string& position) {
  switch (why) {
    case ErasureRefused::kNoEvent:
      throw ConnectError(Code::kNotFound, "there is no event at position " + position);
    case ErasureRefused::kOfLog:
      throw ConnectError(Code::kFailedPrecondition,
                         "the event at position " + position +
                             " is about the log itself and has no content to erase");
    case ErasureRefused::kAlready:
      throw ConnectError(Code::kFailedPrecondition, "erased at position " + position + " already");
    case ErasureRefused::kNewest:
      break;
  }
  throw ConnectError(Code::kFailedPrecondition,
                     "the event at position " + position +
                         " is what its record says now; change the record first, then erase");
}

/// Which settings an event changed is only known from its content: the index has to know it before
/// that is erased.
void let_index_come_along(const AdminSources& sources, const RequestContext& context) {
  const Position head = sources.pool.read(
      context.deadline, [](Connection& connection) { return read_head(connection).position; });
  try {
    sources.changed_paths.wait_for(head, context.deadline);
  } catch (const CorruptLog&) {  // it has stopped for good, and what is erased may be why
  }
}

admin::v1::EraseResponse erase(const AdminSources& sources, const RequestContext& context,
                               const admin::v1::EraseRequest& request) {
  constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
  const std::string reason = request.reason().empty() ? context.reason : request.reason();
  std::vector<Violation> violations;
  if (request.position() == 0)
    violations.push_back({"position", "invalid position 0: the first event is at position 1"});
  if (trim_blanks(reason).empty())
    violations.push_back({"reason", "a reason is required: what is erased cannot be brought back"});
  if (reason.size() > kMaxReasonBytes)
    violations.push_back({"reason", "invalid reason: must be at most 4096 bytes"});
  if (reason.find('\0') != std::string::npos)
    violations.push_back({"reason", "invalid reason: must not contain U+0000"});
  refuse(violations);
  const std::string position = std::to_string(request.position());
  if (request.position() > kLargest) throw_refused(ErasureRefused::kNoEvent, position);
  Command command;
  command.domain = kErasureDomain;
  command.body = Erasure{{static_cast<std::int64_t>(request.position())}};
  command.bytes = kErasureBytes;
  command.actor = context.caller.name;
  command.reason = reason;
  command.request_id = context.request_id;
  command.idempotency_key = context.idempotency_key;
  command.fingerprint = command_fingerprint("Erase", {}, {}, position);
  command.deadline = context.deadline;
  let_index_come_along(sources, context);
  const Outcome outcome = sources.sequencer.submit(std::move(command));
  if (const auto* rejected = std::get_if<Rejected>(&outcome))
    throw_refused(std::any_cast<ErasureRefused>(rejected->why), position);
  admin::v1::EraseResponse response;
  response.set_position(number(std::get<Accepted>(outcome).events.back().position));
  return response;
}

template <class Request, class Response>
void add_stream(Router& router, const char* name,
                std::function<void(const Request&, MessageStream<Response>&)> work,
                const std::shared_ptr<std::atomic<int>>& taken) {
  router.server_stream<Request, Response>(
      find_method(Request::descriptor(), "AdminService", name),
      [work = std::move(work), taken](const RequestContext&, const Request& request,
                                      MessageStream<Response>& out) {
        long_work(*taken, [&] { work(request, out); });
      });
}

}  // namespace

void register_admin_service(Router& router, const AdminSources& sources) {
  using namespace admin::v1;
  const auto taken = std::make_shared<std::atomic<int>>(0);
  add_stream<RebuildRequest, RebuildResponse>(
      router, "Rebuild",
      [&sources](const auto& request, auto& out) { rebuild_model(sources.conninfo, request, out); },
      taken);
  add_stream<VerifyRequest, VerifyResponse>(
      router, "Verify",
      [&sources](const auto& request, auto& out) { verify_log(sources.conninfo, request, out); },
      taken);
  add_stream<ExportRequest, ExportResponse>(
      router, "Export",
      [&sources](const auto& request, auto& out) { export_lines(sources, request, out); }, taken);
  router.unary<EraseRequest, EraseResponse>(
      find_method(EraseRequest::descriptor(), "AdminService", "Erase"),
      [&sources](const RequestContext& context, const EraseRequest& request) {
        return erase(sources, context, request);
      });
}

}  // namespace writ
