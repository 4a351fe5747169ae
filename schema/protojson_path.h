#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace writ::protojson {

/// A place in a JSON text, as a chain of steps on the stack: it costs nothing until it is shown.
class Path {
 public:
  Path() = default;
  /// A field, by its proto name or, when it is unknown, by the name in the text.
  Path(const Path& parent, std::string_view field) : parent_(&parent), name_(field) {}
  /// An element of an array.
  Path(const Path& parent, std::size_t index)
      : parent_(&parent), index_(index), kind_(Kind::kIndex) {}
  /// An entry of a map.
  static Path entry(const Path& parent, std::string_view key) {
    Path path(parent, key);
    path.kind_ = Kind::kKey;
    return path;
  }

  std::string to_string() const;

 private:
  enum class Kind : unsigned char { kField, kIndex, kKey };

  const Path* parent_ = nullptr;
  std::string_view name_;
  std::size_t index_ = 0;
  Kind kind_ = Kind::kField;
};

}  // namespace writ::protojson
