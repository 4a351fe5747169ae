#include <boost/test/unit_test.hpp>
#include <fstream>
#include <set>

#include "flyteidl2/core/tasks.pb.h"
#include "flyteidl2/settings/settings_service.pb.h"
#include "flyteidl2/task/run.pb.h"

namespace writ {
namespace {

namespace pb = google::protobuf;

using Rows = std::set<std::string>;

std::string join(std::initializer_list<std::string> cells) {
  std::string row;
  for (const std::string& cell : cells) row += (row.empty() ? "" : "\t") + cell;
  return row;
}

std::string type_name(const pb::FieldDescriptor& field) {
  if (field.message_type()) return field.message_type()->full_name();
  if (field.enum_type()) return field.enum_type()->full_name();
  return field.type_name();
}

void add_enum(const pb::EnumDescriptor& type, Rows* rows) {
  for (int i = 0; i < type.value_count(); ++i) {
    const auto& value = *type.value(i);
    const std::string& name = value.options().GetExtension(flyteidl2::core::accelerator_name);
    rows->insert(join({"value", type.file()->name(), type.full_name(), value.name(),
                       std::to_string(value.number()), name.empty() ? "-" : name}));
  }
}

void add_message(const pb::Descriptor& type, Rows* rows) {
  const std::string& file = type.file()->name();
  for (int i = 0; i < type.field_count(); ++i) {
    const auto& field = *type.field(i);
    const auto* oneof = field.containing_oneof();
    rows->insert(
        join({"field", file, type.full_name(), field.name(), std::to_string(field.number()),
              type_name(field), field.is_repeated() ? "repeated" : "singular",
              oneof ? oneof->name() : "-", field.json_name()}));
  }
  for (int i = 0; i < type.reserved_range_count(); ++i) {
    const auto* range = type.reserved_range(i);
    rows->insert(join({"reserved", file, type.full_name(),
                       std::to_string(range->start) + "-" + std::to_string(range->end - 1)}));
  }
  for (int i = 0; i < type.reserved_name_count(); ++i) {
    rows->insert(join({"reserved", file, type.full_name(), type.reserved_name(i)}));
  }
  for (int i = 0; i < type.enum_type_count(); ++i) add_enum(*type.enum_type(i), rows);
  for (int i = 0; i < type.nested_type_count(); ++i) add_message(*type.nested_type(i), rows);
}

void add_extensions(const pb::FileDescriptor& file, Rows* rows) {
  for (int i = 0; i < file.extension_count(); ++i) {
    const auto& extension = *file.extension(i);
    rows->insert(
        join({"extension", file.name(), extension.full_name(), std::to_string(extension.number()),
              extension.containing_type()->full_name(), extension.type_name()}));
  }
}

void add_file(const pb::FileDescriptor& file, Rows* rows) {
  for (int i = 0; i < file.message_type_count(); ++i) add_message(*file.message_type(i), rows);
  for (int i = 0; i < file.enum_type_count(); ++i) add_enum(*file.enum_type(i), rows);
  add_extensions(file, rows);
  for (int i = 0; i < file.service_count(); ++i) {
    const auto& service = *file.service(i);
    for (int j = 0; j < service.method_count(); ++j) {
      const auto& method = *service.method(j);
      rows->insert(
          join({"method", file.name(), service.full_name(), method.name(),
                method.input_type()->full_name(), method.output_type()->full_name(),
                pb::MethodOptions::IdempotencyLevel_Name(method.options().idempotency_level())}));
    }
  }
}

Rows read_rows(const std::string& name) {
  Rows rows;
  std::ifstream file(WRIT_SOURCE_DIR "/tests/schema/" + name);
  for (std::string line; std::getline(file, line);) rows.insert(line);
  BOOST_TEST(rows.size() > 100U);
  return rows;
}

BOOST_AUTO_TEST_SUITE(wire_contract)

// The table was made from the descriptors of the published Python package flyteidl2 2.0.53.
BOOST_AUTO_TEST_CASE(our_descriptors_equal_the_published_ones) {
  Rows ours;
  add_file(*flyteidl2::settings::Settings::descriptor()->file(), &ours);
  add_file(*flyteidl2::settings::SettingsRecord::descriptor()->file(), &ours);
  // Of this file we have a part.
  add_message(*flyteidl2::core::GPUAccelerator::descriptor(), &ours);
  add_enum(*flyteidl2::core::AcceleratorModel_descriptor(), &ours);
  add_extensions(*flyteidl2::core::GPUAccelerator::descriptor()->file(), &ours);

  const Rows published = read_rows("wire_contract.tsv");
  for (const std::string& row : published) BOOST_TEST(ours.contains(row), "missing: " << row);
  for (const std::string& row : ours) BOOST_TEST(published.contains(row), "not theirs: " << row);
}

// The table has these messages whole, from the same package; of some we have a part.
BOOST_AUTO_TEST_CASE(what_we_have_of_runs_and_tasks_is_as_published) {
  Rows ours;
  add_file(*flyteidl2::task::RunSpec::descriptor()->file(), &ours);
  add_file(*flyteidl2::core::SecurityContext::descriptor()->file(), &ours);
  add_file(*flyteidl2::core::KeyValuePair::descriptor()->file(), &ours);
  add_file(*flyteidl2::core::Identifier::descriptor()->file(), &ours);
  const pb::FileDescriptor& tasks = *flyteidl2::core::TaskTemplate::descriptor()->file();
  for (int i = 0; i < tasks.message_type_count(); ++i)
    if (tasks.message_type(i) != flyteidl2::core::GPUAccelerator::descriptor())
      add_message(*tasks.message_type(i), &ours);
  const Rows published = read_rows("run_contract.tsv");
  BOOST_TEST(ours.size() > 90U);
  for (const std::string& row : ours) BOOST_TEST(published.contains(row), "not theirs: " << row);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
