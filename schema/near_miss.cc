#include "schema/near_miss.h"

#include <algorithm>
#include <numeric>

namespace writ {
namespace {

/// Longer words get no hint; it bounds the cost, which is quadratic in the length.
constexpr std::size_t kMaxWord = 64;

std::string normalized(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '_' || c == ' ') c = '-';
  }
  return out;
}

/// The number of insertions, deletions and replacements between two texts (Levenshtein).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_name(std::string_view word, const std::vector<std::string>& names) {
  if (word.empty() || word.size() > kMaxWord) return "";
  const std::string wanted = normalized(word);
  const std::string* best = nullptr;
  for (const std::string& name : names) {
    const std::string candidate = normalized(name);
    if (candidate == wanted) return name;
    if (candidate.ends_with("-" + wanted) && (!best || name.size() < best->size())) best = &name;
  }
  if (best) return *best;
  std::size_t fewest = std::max<std::size_t>(1, wanted.size() / 4) + 1;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(wanted, normalized(name));
    if (distance < fewest) {
      fewest = distance;
      best = &name;
    }
  }
  return best ? *best : "";
}

}  // namespace writ
