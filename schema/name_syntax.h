#pragma once

#include <string_view>

#include "writ/schema/v1/rules.pb.h"

namespace writ {

/// The rule of `syntax` that `text` breaks, in words that follow "must"; empty when it breaks none.
/// Syntaxes are those of Kubernetes' apimachinery, pkg/util/validation.
std::string_view broken_syntax(schema::v1::Syntax syntax, std::string_view text);

/// True for 1 to 63 letters, digits, `-`, `_` or `.`, starting and ending with a letter or digit:
/// the segments of a settings key, and names and values of Kubernetes labels.
bool is_qualified_segment(std::string_view text);

}  // namespace writ
