#pragma once

#include <google/protobuf/message.h>

#include <stdexcept>
#include <string>

#include "tools/client/setting.h"
#include "writ/audit/v1/audit.pb.h"

namespace YAML {
class Node;
}

namespace writ::client {

/// Stands for the state UNSET where values are written.
inline constexpr char kUnsetToken[] = "~unset";

/// A text is no value for a setting; says what one is, for people.
class ValueError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Gives a leaf the value that people write as `text`: texts and quantities as they are, whole
/// numbers, true and false, an accelerator by its name. Maps and whole accelerators as YAML or
/// JSON. Throws ValueError.
void set_from_text(const Setting& setting, const std::string& text,
                   google::protobuf::Message* leaf);

/// The same from a settings file; kUnsetToken makes it UNSET. `node` must not be null, as YAML
/// means it, unless that is an empty text: `empty` says that nothing stands there.
void set_from_yaml(const Setting& setting, const YAML::Node& node, bool empty,
                   google::protobuf::Message* leaf);

/// Makes a leaf UNSET.
void set_unset(const Setting& setting, google::protobuf::Message* leaf);

/// What a settings file says of a leaf that has a value or is UNSET, on one line; `set_from_yaml`
/// reads it back. Not for maps with entries.
std::string yaml_value(const Setting& setting, const google::protobuf::Message& leaf);

/// For people: on one line, `~unset` for UNSET; an accelerator by its name where that is all.
std::string shown(const audit::v1::LeafValue& value);

}  // namespace writ::client
