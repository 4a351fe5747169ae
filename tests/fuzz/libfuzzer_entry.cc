// Makes one of the targets libFuzzer's; which one, the build says.

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

// The name is libFuzzer's.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  writ::fuzz::WRIT_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
