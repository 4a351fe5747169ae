#pragma once

#include <string>
#include <string_view>

#include "events/merkle.h"
#include "events/types.h"

namespace writ {

/// What a log commits itself to: its first `size` events have the root `root`.
struct Checkpoint {
  std::string origin;  ///< `<name>/<log id>`, also the name of the key that signs.
  Position size;
  Digest root;

  /// The log's id in hex: what follows the origin's last slash.
  std::string log_id() const;
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

/// The text of C2SP tlog-checkpoint, to be signed as a note: origin, size in decimal, root in
/// base64, one a line.
std::string checkpoint_text(const Checkpoint& checkpoint);

/// Reads such a text; lines that follow are extensions, which we have none of. Throws
/// std::invalid_argument.
Checkpoint parse_checkpoint(std::string_view text);

}  // namespace writ
