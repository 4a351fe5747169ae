#include "events/tile.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <vector>

namespace writ {
namespace {

constexpr int kHighestLevel = 63 / kTileHeight;  // of a tree whose size fits 63 bits
constexpr int kMostElements = 5;                 // of three digits: more tiles than such a tree has

/// A number without leading zeros, at most `largest`.
std::optional<int> parse_number(std::string_view text, int largest) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || number < 0 || number > largest) return std::nullopt;
  if (std::to_string(number) != text) return std::nullopt;
  return number;
}

std::string three_digits(std::int64_t number) {
  const std::string digits = std::to_string(number);
  return std::string(3 - digits.size(), '0') + digits;
}

std::string index_path(std::int64_t index) {
  std::string path = three_digits(index % 1000);
  for (index /= 1000; index > 0; index /= 1000)
    path = "x" + three_digits(index % 1000) + "/" + path;
  return path;
}

std::optional<std::int64_t> parse_index(std::string_view path) {
  std::int64_t index = 0;
  const std::string_view whole = path;
  for (int element = 0; element < kMostElements; ++element) {
    const bool more = path.starts_with('x');
    if (more) path.remove_prefix(1);
    if (path.size() < 3 ||
        !std::all_of(path.begin(), path.begin() + 3, [](char c) { return c >= '0' && c <= '9'; }))
      return std::nullopt;
    index = index * 1000 + (path[0] - '0') * 100 + (path[1] - '0') * 10 + (path[2] - '0');
    path.remove_prefix(3);
    if (!more)  // leading elements of zero would be another spelling
      return path.empty() && index_path(index) == whole ? std::optional(index) : std::nullopt;
    if (!path.starts_with('/')) return std::nullopt;
    path.remove_prefix(1);
  }
  return std::nullopt;
}

}  // namespace

int tile_width(const TileId& tile, std::int64_t size) {
  const std::int64_t hashes = size >> (kTileHeight * tile.level);
  return static_cast<int>(
      std::clamp<std::int64_t>(hashes - tile.index * kTileWidth, 0, kTileWidth));
}

TileId tile_of(const TreeNode& node) {
  const int level = node.height / kTileHeight;
  return {level, node.index >> (kTileHeight - node.height % kTileHeight)};
}

Digest node_in_tile(const TreeNode& node, std::string_view hashes) {
  const int height = node.height % kTileHeight;  // above the tile's hashes
  const std::int64_t first = (node.index << height) % kTileWidth;
  const auto at = static_cast<std::size_t>(first) * sizeof(Digest);
  const std::size_t bytes = sizeof(Digest) << height;
  if (hashes.size() < at + bytes) throw std::invalid_argument("a tile has too few hashes");
  std::vector<Digest> row;
  for (std::size_t i = 0; i < bytes; i += sizeof(Digest))
    row.push_back(to_digest(hashes.substr(at + i, sizeof(Digest))));
  for (; row.size() > 1; row.resize(row.size() / 2))
    for (std::size_t i = 0; i < row.size() / 2; ++i) row[i] = node_hash(row[2 * i], row[2 * i + 1]);
  return row.front();
}

std::optional<TileId> tile_completed_by(const TreeNode& node) {
  if (node.height == 0 || node.height % kTileHeight != 0) return std::nullopt;
  return TileId{node.height / kTileHeight - 1, node.index};
}

std::optional<TileRequest> parse_tile_path(std::string_view path) {
  TileRequest request;
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view level = path.substr(0, slash);
  path.remove_prefix(slash + 1);
  request.entries = level == "entries";
  if (!request.entries) {
    const auto number = parse_number(level, kHighestLevel);
    if (!number) return std::nullopt;
    request.tile.level = *number;
  }
  if (const std::size_t partial = path.find(".p/"); partial != std::string_view::npos) {
    const auto width = parse_number(path.substr(partial + 3), kTileWidth - 1);
    if (!width || *width == 0) return std::nullopt;
    request.width = *width;
    path = path.substr(0, partial);
  }
  const auto index = parse_index(path);
  if (!index) return std::nullopt;
  request.tile.index = *index;
  return request;
}

std::string tile_path(const TileRequest& request) {
  std::string path = request.entries ? "entries" : std::to_string(request.tile.level);
  path += "/" + index_path(request.tile.index);
  if (request.width < kTileWidth) path += ".p/" + std::to_string(request.width);
  return path;
}

}  // namespace writ
