#include "service/file_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace writ {

std::size_t fit_connections(std::size_t wanted, std::size_t reserved) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  if (limit.rlim_cur < limit.rlim_max) {
    const rlimit raised{limit.rlim_max, limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  if (limit.rlim_cur == RLIM_INFINITY) return wanted;
  const std::size_t files = limit.rlim_cur;
  return files > reserved ? std::min(wanted, files - reserved) : std::min<std::size_t>(wanted, 1);
}

}  // namespace writ
