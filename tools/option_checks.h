#pragma once

#include <CLI/CLI.hpp>
#include <stdexcept>
#include <string>

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

/// Refuses a value that `parse` throws std::invalid_argument for, in its words.
template <typename Parse>
CLI::Validator must_parse(Parse parse) {
  return CLI::Validator(
      [parse](const std::string& text) {
        try {
          parse(text);
          return std::string();
        } catch (const std::invalid_argument& e) {
          return std::string(e.what());
        }
      },
      "", "");
}

}  // namespace writ
