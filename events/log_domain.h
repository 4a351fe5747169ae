#pragma once

#include <map>
#include <string>

#include "events/checkpoint_signer.h"
#include "events/domain.h"
#include "events/sequencer.h"

namespace writ {

/// Events about the log itself. No read model is folded from them.
inline constexpr char kLogDomain[] = "log";
inline constexpr char kLogStream[] = "log";
/// An operator went on from a log that was not a continuation of the last checkpoint. Its detail
/// says which they are.
inline constexpr char kLogAccepted[] = "log.accepted";  // frozen

/// An event of the log's own stream; the body of this domain's commands.
struct LogEvent {
  std::string type;
  std::map<std::string, std::string> detail;
};

/// Appends what it is given.
Domain log_domain();

/// What accept_log did.
struct LogAcceptance {
  std::string why;    ///< What was wrong; "" when nothing was, and nothing was done.
  Position position;  ///< Of the event that records it.
};

/// Goes on from a log that is not a continuation of the last checkpoint: records so as an event and
/// signs a new checkpoint. `sequencer` has the log's domain beside all that have read models, and
/// was told of no checkpoint.
LogAcceptance accept_log(Connection& connection, Sequencer& sequencer, CheckpointSigner& signer,
                         const std::string& actor, const std::string& reason);

}  // namespace writ
