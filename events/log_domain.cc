#include "events/log_domain.h"

#include "events/log_check.h"

namespace writ {
namespace {

/// What the event says: the log that is gone on from, and the checkpoint that is given up.
std::map<std::string, std::string> detail_of(const TreeHead& head,
                                             const std::optional<Checkpoint>& last) {
  std::map<std::string, std::string> detail = {{"size", std::to_string(head.size.value)},
                                               {"root", hex(head.root)}};
  if (last) {
    detail["checkpoint_log"] = last->log_id();
    detail["checkpoint_size"] = std::to_string(last->size.value);
    detail["checkpoint_root"] = hex(last->root);
  }
  return detail;
}

}  // namespace

Domain log_domain() {
  Domain domain;
  domain.name = kLogDomain;
  domain.load = [](const std::any&) { return std::vector<StreamName>{{kLogStream}}; };
  domain.decide = [](const std::any& body, Reader&) -> Decision {
    const auto& event = std::any_cast<const LogEvent&>(body);
    return std::vector<NewEvent>{{{kLogStream}, event.type, "{}", event.detail}};
  };
  return domain;
}

LogAcceptance accept_log(Connection& connection, Sequencer& sequencer, CheckpointSigner& signer,
                         const std::string& actor, const std::string& reason) {
  const TreeHead before = read_tree_head(connection);
  const std::optional<Checkpoint> last = signer.last();
  std::string why = signer.distrust();
  if (why.empty() && last) why = trouble_with_checkpoint(connection, before, *last);
  if (why.empty()) return {};
  Command command;
  command.domain = kLogDomain;
  command.body = LogEvent{kLogAccepted, detail_of(before, last)};
  command.actor = actor;
  command.reason = reason;
  const Outcome outcome = sequencer.submit(std::move(command));
  const TreeHead after = read_tree_head(connection);
  signer.start_over(after.size, after.root);
  return {why, std::get<Accepted>(outcome).events.front().position};
}

}  // namespace writ
