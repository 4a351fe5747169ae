#include "service/error_translation.h"

#include "events/errors.h"

namespace writ {

std::optional<ConnectError> translate_storage_error(std::exception_ptr error) {
  try {
    std::rethrow_exception(std::move(error));
  } catch (const Overloaded& e) {
    return ConnectError(Code::kResourceExhausted, e.what());
  } catch (const DeadlineExceeded& e) {
    return ConnectError(Code::kDeadlineExceeded, e.what());
  } catch (const IdempotencyKeyReused& e) {
    return ConnectError(Code::kInvalidArgument, e.what());
  } catch (const OutcomeUnknown& e) {
    return ConnectError(Code::kUnavailable, e.what());
  } catch (const ReadModelBehind& e) {
    return ConnectError(Code::kUnavailable, e.what());
  } catch (const WritingStopped&) {
    return ConnectError(Code::kUnavailable,
                        "nothing is written any more: the log is not the one that it was; an"
                        " operator must look at it");
  } catch (const StorageUnavailable&) {
    // The exception's own text may name hosts and roles; it is in the log.
    return ConnectError(Code::kUnavailable, "the database is unavailable; try again later");
  } catch (const CorruptLog&) {
    return ConnectError(Code::kDataLoss,
                        "a stored record cannot be read; an operator must look at it");
  } catch (...) {
    return std::nullopt;
  }
}

}  // namespace writ
