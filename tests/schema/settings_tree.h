#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "flyteidl2/settings/settings_definition.pb.h"

namespace writ {

/// One leaf that Settings can have: the fields that lead to it, found by walking the descriptor.
struct LeafPlace {
  std::vector<const google::protobuf::FieldDescriptor*> steps;

  std::string path() const;
  const google::protobuf::Descriptor& type() const { return *steps.back()->message_type(); }
  google::protobuf::Message* make_in(google::protobuf::Message* settings) const;
  /// Null when the leaf or a group above it is absent.
  const google::protobuf::Message* find_in(const google::protobuf::Message& settings) const;
};

/// Every leaf that Settings can have, told apart from groups by the name of its type alone.
std::vector<LeafPlace> all_leaf_places();

/// Gives a leaf its state and, unless `token` is empty, a scalar value made from it, and a scope
/// level that no server would have sent.
void fill_leaf(google::protobuf::Message* leaf, int state, const std::string& token);

}  // namespace writ
