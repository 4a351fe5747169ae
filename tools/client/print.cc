#include "tools/client/print.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <iostream>

#include "schema/protojson.h"
#include "tools/client/printable.h"
#include "tools/client/setting_value.h"
#include "tools/client/yaml_text.h"

namespace writ::client {
namespace {

bool shows_colours() {
  static const bool shows = [] {
    const char* no_color = std::getenv("NO_COLOR");
    const char* term = std::getenv("TERM");
    return isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0') &&
           term != nullptr && std::string(term) != "dumb";
  }();
  return shows;
}

const char* code_of(Colour colour) {
  switch (colour) {
    case Colour::kBold:
      return "1";
    case Colour::kDim:
      return "2";
    case Colour::kRed:
      return "31";
    case Colour::kGreen:
      return "32";
    case Colour::kYellow:
      return "33";
    case Colour::kNone:
      break;
  }
  return "";
}

/// Whether it is a map as a whole that comes or goes.
bool shown_map(const audit::v1::LeafChange& change) {
  const audit::v1::LeafValue& value = change.has_before() ? change.before() : change.after();
  return value.state() == flyteidl2::settings::SETTING_STATE_VALUE && !value.has_value();
}

}  // namespace

std::string painted(const std::string& text, Colour colour) {
  if (colour == Colour::kNone || text.empty() || !shows_colours()) return text;
  std::string out = "\033[";
  out += code_of(colour);
  return out + "m" + text + "\033[0m";
}

Table::Table(std::vector<std::string> header) : header_(std::move(header)) {
  for (const std::string& name : header_) widths_.push_back(width(name));
}

void Table::add(std::vector<Cell> row) {
  for (std::size_t i = 0; i + 1 < std::min(header_.size(), row.size() + 1); ++i)
    widths_[i] = std::max(widths_[i], width(row[i].text));
  rows_.push_back(std::move(row));
}

void Table::print() {
  const auto print_row = [this](const std::vector<Cell>& row) {
    std::string line;
    std::size_t owed = 0;  // blanks before the next text, so that no line ends in them
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!row[i].text.empty()) {
        line.append(owed, ' ');
        owed = 0;
        line += painted(row[i].text, row[i].colour);
      }
      const std::size_t wide = width(row[i].text);
      owed += (widths_[i] > wide ? widths_[i] - wide : 0) + 2;
    }
    std::cout << line << "\n";
  };
  if (!header_printed_ && !rows_.empty()) {
    std::vector<Cell> header;
    for (const std::string& name : header_) header.emplace_back(name, Colour::kBold);
    print_row(header);
    header_printed_ = true;
  }
  for (const auto& row : rows_) print_row(row);
  rows_.clear();
  std::cout.flush();
}

void print_message(const google::protobuf::Message& message, Output output, bool first) {
  const std::string json = write_json(message);
  if (output == Output::kJson)
    std::cout << json << "\n";
  else
    std::cout << (first ? "" : "---\n") << yaml_from_json(json);
  std::cout.flush();
}

std::string ago(std::int64_t seconds) {
  struct Unit {
    std::int64_t seconds;
    const char* name;
  };
  constexpr std::array<Unit, 4> kUnits = {{{86400, " d"}, {3600, " h"}, {60, " min"}, {1, " s"}}};
  for (const Unit& unit : kUnits)
    if (seconds >= unit.seconds) {
      std::string text = std::to_string(seconds / unit.seconds);
      text += unit.name;
      return text + " ago";
    }
  return "now";
}

std::string time_text(const google::protobuf::Timestamp& time) {
  const std::time_t seconds = time.seconds();
  std::tm parts{};
  char text[64];
  if (gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%SZ", &parts) == 0)
    return "?";
  return text + (" (" + ago(std::time(nullptr) - seconds)) + ")";
}

Table::Cell change_cell(const audit::v1::LeafChange& change) {
  const std::string path = printable(change.path());
  if (!change.has_before()) return {"+ " + path + ": " + shown(change.after()), Colour::kGreen};
  if (!change.has_after()) return {"- " + path + ": " + shown(change.before()), Colour::kRed};
  return {"~ " + path + ": " + shown(change.before()) + " -> " + shown(change.after()),
          Colour::kYellow};
}

std::vector<audit::v1::LeafChange> worth_telling(
    const std::vector<audit::v1::LeafChange>& changes) {
  const auto said_by_entries = [&](const audit::v1::LeafChange& change) {
    return change.has_before() != change.has_after() && shown_map(change) &&
           std::ranges::any_of(changes, [&](const audit::v1::LeafChange& other) {
             return other.path().starts_with(change.path() + "[");
           });
  };
  std::vector<audit::v1::LeafChange> told;
  for (const auto& change : changes)
    if (!said_by_entries(change)) told.push_back(change);
  return told;
}

void print_changes(const std::vector<audit::v1::LeafChange>& changes) {
  for (const auto& change : worth_telling(changes)) {
    const Table::Cell cell = change_cell(change);
    std::cout << painted(cell.text, cell.colour) << "\n";
  }
  std::cout.flush();
}

}  // namespace writ::client
