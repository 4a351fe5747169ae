#include "schema/protojson_path.h"

#include <algorithm>

#include "schema/quote.h"

namespace writ::protojson {
namespace {

/// Longer names are cut: whoever sent one knows it.
constexpr std::size_t kMaxName = 128;

bool is_plain(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '@';
         });
}

}  // namespace

std::string Path::to_string() const {
  if (!parent_) return "";
  std::string out = parent_->to_string();
  if (kind_ == Kind::kIndex) return out + "[" + std::to_string(index_) + "]";
  if (kind_ == Kind::kKey || !is_plain(name_)) {
    return out + "[" + quote(name_.substr(0, kMaxName)) + "]";
  }
  if (!out.empty()) out += '.';
  return out += name_;
}

}  // namespace writ::protojson
