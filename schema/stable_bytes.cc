#include "schema/stable_bytes.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

namespace writ {

std::string stable_bytes(const google::protobuf::Message& message) {
  std::string bytes;
  bytes.reserve(message.ByteSizeLong());
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeWithCachedSizes(&coded);
  coded.Trim();
  return bytes;
}

}  // namespace writ
