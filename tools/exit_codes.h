#pragma once

namespace writ {

/// Exit codes of the program, for scripts; `writ --help` lists them. Frozen.
inline constexpr int kSuccess = 0;  ///< Did what was asked; for `serve`, was told to stop and did.
inline constexpr int kFailure = 1;  ///< Could not start, or failed.
inline constexpr int kUsageError = 2;  ///< The options are wrong or refused; nothing was touched.
// Of the client commands.
inline constexpr int kExitInvalid = 3;  ///< The server refused what was asked as invalid.
inline constexpr int kExitConflict =
    4;  ///< Somebody else's change came first; nothing was written.
inline constexpr int kExitNotFound = 5;     ///< There is no such record or version.
inline constexpr int kExitNotAllowed = 6;   ///< Not signed in, or not allowed.
inline constexpr int kExitUnreachable = 7;  ///< No server there, or none that can serve now.
// Of verify and verify-export.
inline constexpr int kExitWrong = 8;  ///< What was checked is not right; standard output says what.

}  // namespace writ
