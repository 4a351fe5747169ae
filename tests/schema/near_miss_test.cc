#include "schema/near_miss.h"

#include <boost/test/unit_test.hpp>

namespace writ {
namespace {

BOOST_AUTO_TEST_SUITE(near_miss)

BOOST_AUTO_TEST_CASE(a_name_is_guessed_from_case_suffix_and_typing_errors) {
  const std::vector<std::string> names{"nvidia-h100-mega-80gb", "nvidia-h100", "nvidia-a100",
                                       "nvidia-a100-80gb", "google-tpu-v5e"};
  const std::pair<const char*, const char*> rows[] = {
      {"NVIDIA-H100", "nvidia-h100"},
      {"H100", "nvidia-h100"},
      {"A100 80GB", "nvidia-a100-80gb"},
      {"nvidia_a100", "nvidia-a100"},
      {"nvidai-h100", "nvidia-h100"},
      {"80gb", "nvidia-a100-80gb"},
      {"google-tpu-v5", "google-tpu-v5e"},
      {"banana", ""},
      {"", ""},
      {"x", ""},
  };
  for (const auto& [word, name] : rows) BOOST_TEST(nearest_name(word, names) == name, word);
}

BOOST_AUTO_TEST_CASE(a_huge_word_gets_no_hint) {
  BOOST_TEST(nearest_name(std::string(1 << 20, 'a'), {std::string(1 << 20, 'a')}).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace writ
