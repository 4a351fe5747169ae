#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace writ {

/// Refuses a value for which `check` is false: `"VALUE" RULE`.
template <typename Check>
CLI::Validator must_hold(Check check, const char* rule) {
  return CLI::Validator(
      [check, rule](const std::string& text) {
        return check(text) ? std::string() : "\"" + text + "\" " + rule;
      },
      "", "");
}

/// Refuses what is no whole number from `least` to `most`.
inline CLI::Validator must_be_number(std::int64_t least,
                                     std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  return CLI::Validator(
      [least, most](const std::string& text) {
        std::int64_t number = 0;
        const char* const end = text.data() + text.size();
        const auto [rest, error] = std::from_chars(text.data(), end, number);
        if (error == std::errc() && rest == end && number >= least && number <= most)
          return std::string();
        std::string refusal = "\"" + text + "\" is no whole number from " + std::to_string(least);
        if (most == std::numeric_limits<std::int64_t>::max()) return refusal + " on";
        return refusal + " to " + std::to_string(most);
      },
      "", "");
}

/// `a, b or c`.
inline std::string either(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 < words.size() ? ", " : " or ";
    text += words[i];
  }
  return text;
}

/// Refuses all but these words.
inline CLI::Validator must_be_one_of(std::vector<std::string> words) {
  return CLI::Validator(
      [words = std::move(words)](const std::string& text) {
        for (const std::string& word : words)
          if (text == word) return std::string();
        return "\"" + text + "\" is not " + either(words);
      },
      "", "");
}

/// Puts the value of an enum in the place of its word, as a number, which is how the option reads
/// it; for `transform`. Refuses all other words.
template <typename Enum>
CLI::Validator must_name(std::vector<std::pair<std::string, Enum>> values) {
  return CLI::Validator(
      [values = std::move(values)](std::string& text) {
        std::vector<std::string> words;
        for (const auto& [word, value] : values) {
          if (text == word) {
            text = std::to_string(static_cast<int>(value));
            return std::string();
          }
          words.push_back(word);
        }
        return "\"" + text + "\" is not " + either(words);
      },
      "", "");
}

/// Refuses a value that `parse` throws an Error for, in its words.
template <typename Error = std::invalid_argument, typename Parse>
CLI::Validator must_parse(Parse parse) {
  return CLI::Validator(
      [parse](const std::string& text) {
        try {
          parse(text);
          return std::string();
        } catch (const Error& e) {
          return std::string(e.what());
        }
      },
      "", "");
}

}  // namespace writ
