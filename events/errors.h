#pragma once

#include <stdexcept>
#include <string>

namespace writ {

/// The database cannot be reached, or may not be written now. The command had no effect. Retry
/// later (503).
class StorageUnavailable : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The log is not the one that it was, so nothing is written any more. The command had no effect.
class WritingStopped : public StorageUnavailable {
  using StorageUnavailable::StorageUnavailable;
};

/// A read model has not come as far as the answer needs. Retry soon (503).
class ReadModelBehind : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The database went away while a command was being committed and stayed away: it is recorded whole
/// or not at all, and this process cannot tell which. Retry with the same idempotency key.
class OutcomeUnknown : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The log or a read model breaks an invariant. Stop and tell an operator; never skip over it.
class CorruptLog : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// PostgreSQL refused a statement for another reason than a lost connection. A bug, or a command
/// that the database cannot store; the command had no effect.
class StorageError : public std::runtime_error {
 public:
  StorageError(const std::string& what, std::string sqlstate)
      : std::runtime_error(what), sqlstate_(std::move(sqlstate)) {}
  const std::string& sqlstate() const { return sqlstate_; }

 private:
  std::string sqlstate_;
};

/// More waits than the service holds (queue, connections). The command had no effect (429).
class Overloaded : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The caller's deadline passed before the work began. The command had no effect (504).
class DeadlineExceeded : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An idempotency key was used before for another command (400).
class IdempotencyKeyReused : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The program cannot start as it was asked to: one line for the operator.
class StartError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Another process works with the data directory.
class DirectoryInUse : public StartError {
  using StartError::StartError;
};

}  // namespace writ
