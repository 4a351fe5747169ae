#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/timestamp.pb.h>

#include <string>
#include <vector>

#include "tools/client/options.h"
#include "writ/audit/v1/audit.pb.h"

namespace writ::client {

enum class Colour { kNone, kBold, kDim, kRed, kGreen, kYellow };

/// Text in a colour on a terminal that shows them, without one everywhere else and where NO_COLOR
/// is set.
std::string painted(const std::string& text, Colour colour);

/// Columns of text, as wide as what is in them; the last one runs free. Made for one print after
/// another: columns never get narrower, and the header is printed once.
class Table {
 public:
  explicit Table(std::vector<std::string> header);

  struct Cell {
    std::string text;  ///< Printable.
    Colour colour = Colour::kNone;
    Cell(std::string text_in, Colour colour_in = Colour::kNone)
        : text(std::move(text_in)), colour(colour_in) {}
    Cell(const char* text_in) : text(text_in) {}
  };
  /// A row may have fewer cells than the header.
  void add(std::vector<Cell> row);
  bool empty() const { return rows_.empty(); }
  /// The rows since the last print, to standard output.
  void print();

 private:
  std::vector<std::string> header_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<Cell>> rows_;
  bool header_printed_ = false;
};

/// A message as JSON or YAML to standard output, as the options say. `first`: of this command.
void print_message(const google::protobuf::Message& message, Output output, bool first = true);

/// `2026-11-30 06:50:33Z (3 min ago)`.
std::string time_text(const google::protobuf::Timestamp& time);

/// `3 min ago`, of now; "now" for what is less than a second away or in the future.
std::string ago(std::int64_t seconds);

/// A difference as a mark (`+`, `-`, `~`), its text and its colour.
Table::Cell change_cell(const audit::v1::LeafChange& change);

/// Without the maps that come or go where their entries say it.
std::vector<audit::v1::LeafChange> worth_telling(const std::vector<audit::v1::LeafChange>& changes);

/// The differences worth telling, a line each, to standard output.
void print_changes(const std::vector<audit::v1::LeafChange>& changes);

}  // namespace writ::client
