#include "projections/export_check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <future>
#include <unordered_set>
#include <vector>

#include "events/canonical_json.h"
#include "events/errors.h"
#include "events/event_chain.h"
#include "projections/settings.h"
#include "schema/jsonb_text.h"

namespace writ {
namespace {

constexpr std::size_t kBlock = 1 << 20;  // read at a time
constexpr std::size_t kLongestLine = 64 << 20;

/// The lines of a file, with the place where each begins.
class LineReader {
 public:
  explicit LineReader(const std::filesystem::path& file)
      : file_(open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat status {};
    if (file_ < 0 || fstat(file_, &status) != 0)
      throw BadExport("cannot read " + file.string() + ": " + std::strerror(errno));
    if (!S_ISREG(status.st_mode)) throw BadExport(file.string() + " is not a file");
    size_ = status.st_size;
  }
  ~LineReader() {
    if (file_ >= 0) close(file_);
  }
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  std::int64_t size() const { return size_; }

  /// As much as one reading gives in whole lines, "" at the end.
  std::string block() {
    std::string lines = std::exchange(rest_, {});
    for (;;) {
      const std::size_t before = lines.size();
      lines.resize(before + kBlock);
      const ssize_t count = pread(file_, lines.data() + before, kBlock, offset_);
      if (count < 0) throw BadExport(std::string("cannot read: ") + std::strerror(errno));
      offset_ += count;
      lines.resize(before + static_cast<std::size_t>(count));
      const std::size_t end = lines.rfind('\n');
      if (count == 0 && end != lines.size() - 1 && !lines.empty())
        throw BadExport("the last line has no end: the export was cut off");
      if (end != std::string::npos) {
        rest_ = lines.substr(end + 1);
        lines.resize(end + 1);
        return lines;
      }
      if (count == 0) return lines;
      if (lines.size() > kLongestLine) throw BadExport("a line is too long");
    }
  }

  /// The line that begins at `place`.
  std::string line_at(std::int64_t place) const {
    std::string line;
    while (line.size() <= kLongestLine) {
      constexpr std::size_t kUsual = 8192;
      const std::size_t before = line.size();
      line.resize(before + kUsual);
      const ssize_t count =
          pread(file_, line.data() + before, kUsual, place + static_cast<std::int64_t>(before));
      if (count <= 0) break;
      line.resize(before + static_cast<std::size_t>(count));
      if (const std::size_t end = line.find('\n'); end != std::string::npos)
        return line.substr(0, end);
    }
    throw BadExport("the file was changed while it was read");
  }

 private:
  int file_;
  std::int64_t size_ = 0;
  off_t offset_ = 0;
  std::string rest_;
};

/// One event's line.
struct EventLine {
  std::string envelope;
  std::optional<std::string> payload, salt;
};

EventLine read_event_line(std::string_view line) {
  CanonicalReader reader(line);
  EventLine event;
  reader.expect(R"({"envelope":)");
  event.envelope = reader.string();
  if (reader.at(R"(,"payload":)")) {
    reader.expect(R"(,"payload":)");
    event.payload = reader.string();
  }
  if (reader.at(R"(,"salt":)")) {
    reader.expect(R"(,"salt":)");
    const std::string digits = reader.string();
    event.salt = from_hex(digits);
    if (hex(*event.salt) != digits) reader.fail("expected lower-case digits before it");
  }
  reader.expect("}");
  reader.expect_end();
  return event;
}

/// Some whole lines, and what those that begin as an event's say. Nothing for one that cannot be
/// read.
struct Block {
  std::string lines;
  std::vector<std::optional<EventLine>> events;
};

constexpr std::string_view kEventLine = R"({"envelope")";

Block parse_block(std::string lines) {
  Block block{std::move(lines), {}};
  for (std::string_view rest = block.lines; rest.starts_with(kEventLine);) {
    const std::size_t end = rest.find('\n');
    try {
      block.events.emplace_back(read_event_line(rest.substr(0, end)));
    } catch (const std::invalid_argument&) {
      block.events.emplace_back();  // whoever takes it reads it again, and says so
    }
    rest.remove_prefix(end + 1);
  }
  return block;
}

/// One settings row.
struct RowLine {
  std::string key, created_at, updated_at, data;
  std::int64_t id = 0, version = 0;
};

RowLine read_row_line(std::string_view line) {
  CanonicalReader reader(line);
  RowLine row;
  reader.expect(R"({"settings":)");
  row.key = reader.string();
  reader.expect(R"(,"id":)");
  row.id = reader.number();
  reader.expect(R"(,"version":)");
  row.version = reader.number();
  reader.expect(R"(,"created_at":)");
  row.created_at = reader.string();
  reader.expect(R"(,"updated_at":)");
  row.updated_at = reader.string();
  reader.expect(R"(,"data":)");
  row.data = reader.string();
  reader.expect("}");
  reader.expect_end();
  return row;
}

class ExportCheck {
 public:
  ExportCheck(const std::filesystem::path& file, const ExportTrust& trust)
      : lines_(file), trust_(trust), chain_(trust.checkpoint.log_id()) {}

  CheckedExport run(const std::function<void(std::int64_t, std::int64_t)>& progress) {
    if (trust_.old) check_old();
    // While one block is checked the next is read and its lines are parsed.
    std::future<Block> next = read_ahead();
    for (Block block = next.get(); !block.lines.empty(); block = next.get()) {
      next = read_ahead();
      take_block(block);
      progress(place_, lines_.size());
    }
    if (!ended_) throw BadExport("the export was cut off: its last line is not there");
    return {chain_.position().value, rows_};
  }

 private:
  std::future<Block> read_ahead() {
    return std::async(std::launch::async, [this] { return parse_block(lines_.block()); });
  }

  void take_block(const Block& block) {
    const std::optional<EventLine> not_parsed;
    auto parsed = block.events.begin();
    for (std::string_view rest = block.lines; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      take_line(rest.substr(0, end), parsed == block.events.end() ? not_parsed : *parsed++);
      place_ += static_cast<std::int64_t>(end) + 1;
      rest.remove_prefix(end + 1);
    }
  }

  void take_line(std::string_view line, const std::optional<EventLine>& event) {
    ++line_;
    try {
      if (ended_) throw std::invalid_argument("nothing may follow the end");
      if (line.starts_with(kEventLine))
        event ? take_event(*event) : take_event(read_event_line(line));
      else if (line.starts_with(R"({"settings")"))
        take_row(line);
      else
        take_end(line);
    } catch (const std::invalid_argument& e) {
      throw BadExport("line " + std::to_string(line_) + ": " + e.what());
    } catch (const CorruptLog& e) {
      throw BadExport(e.what());
    }
  }

  void take_event(const EventLine& event) {
    if (log_ended_) throw std::invalid_argument("an event after the settings");
    ChainedEvent chained{event.envelope, event.payload, event.salt};
    const Envelope& envelope = chain_.add(chained, static_cast<std::uint64_t>(place_));
    static_cast<void>(chain_.take_full_tiles());
    if (envelope.stream.value.starts_with(kSettingsStreamPrefix)) {
      if (envelope.version.value == 1) ++records_;
      if (envelope.type != kSettingsCreated && envelope.type != kSettingsUpdated)
        throw CorruptLog("position " + std::to_string(envelope.position.value) + ": the type \"" +
                         envelope.type + "\" is not known to this program; use a newer one");
    }
    if (trust_.old && chain_.position() == trust_.old->size) check_old();
  }

  void check_old() const {
    if (trust_.old->log_id() != trust_.checkpoint.log_id())
      throw BadExport("the old checkpoint is of another log");
    if (trust_.old->size > trust_.checkpoint.size)
      throw BadExport("the old checkpoint is of more events than the other one");
    if (chain_.position() == trust_.old->size && chain_.root() != trust_.old->root)
      throw BadExport("the export does not continue the old checkpoint: its first " +
                      std::to_string(trust_.old->size.value) + " events have another root");
  }

  /// After the last event.
  void end_log() {
    if (log_ended_) return;
    log_ended_ = true;
    const std::int64_t events = chain_.position().value;
    const std::int64_t wanted = trust_.checkpoint.size.value;
    if (events < wanted)
      throw BadExport("the export has " + std::to_string(events) + " events, the checkpoint " +
                      std::to_string(wanted) + ": those after position " + std::to_string(events) +
                      " are missing");
    if (events > wanted)
      throw BadExport("the export has " + std::to_string(events) + " events, the checkpoint " +
                      std::to_string(wanted) +
                      ": nothing vouches for the rest; take a checkpoint of the export's time");
    if (chain_.root() != trust_.checkpoint.root)
      throw BadExport("the root of the export's " + std::to_string(events) +
                      " events is not the checkpoint's");
    chain_.check_erasures();
  }

  void take_row(std::string_view line) {
    end_log();
    const RowLine row = read_row_line(line);
    const auto wrong = [&](const std::string& what) {
      throw BadExport("settings row " + row.key + ": " + what);
    };
    if (rows_ > 0 && row.key <= last_key_) wrong("out of order, or there twice");
    last_key_ = row.key;
    ++rows_;
    const auto found = chain_.streams().find(std::string(kSettingsStreamPrefix) + row.key);
    if (found == chain_.streams().end()) wrong("the log has no such record");
    const StreamEnd& stream = found->second;
    if (row.version != stream.version.value)
      wrong("its version is " + std::to_string(row.version) + ", by the log " +
            std::to_string(stream.version.value));
    if (row.id != stream.first.value) wrong("its id is not where it was created");
    if (row.created_at != format_timestamp(stream.created_at)) wrong("created_at differs");
    if (row.updated_at != format_timestamp(stream.updated_at)) wrong("updated_at differs");
    const EventLine newest =
        read_event_line(lines_.line_at(static_cast<std::int64_t>(stream.place)));
    if (!newest.payload) wrong("its newest event is erased");
    if (jsonb_text(*newest.payload) != row.data) wrong("its data is not the newest event's");
    seen_.insert(row.key);
  }

  void take_end(std::string_view line) {
    CanonicalReader reader(line);
    reader.expect(R"({"end":{"log":)");
    end_log();
    if (reader.string() != trust_.checkpoint.log_id()) throw BadExport("the end names another log");
    reader.expect(R"(,"position":)");
    if (const std::int64_t position = reader.number(); position != chain_.position().value)
      throw BadExport("the export says that it has " + std::to_string(position) +
                      " events, and has " + std::to_string(chain_.position().value));
    reader.expect(R"(,"root":)");
    if (reader.string() != hex(chain_.root())) throw BadExport("the end names another root");
    reader.expect(R"(,"rows":)");
    if (const std::int64_t rows = reader.number(); rows != rows_)
      throw BadExport("the export says that it has " + std::to_string(rows) +
                      " settings rows, and has " + std::to_string(rows_));
    reader.expect("}}");
    reader.expect_end();
    if (rows_ < records_) throw BadExport("settings row " + first_missing() + " is missing");
    ended_ = true;
  }

  std::string first_missing() const {
    std::string first;
    for (const auto& [stream, end] : chain_.streams()) {
      if (!stream.starts_with(kSettingsStreamPrefix)) continue;
      std::string key = stream.substr(kSettingsStreamPrefix.size());
      if (!seen_.contains(key) && (first.empty() || key < first)) first = std::move(key);
    }
    return first;
  }

  LineReader lines_;
  const ExportTrust trust_;
  EventChain chain_;
  std::int64_t line_ = 0;
  std::int64_t place_ = 0;
  std::int64_t records_ = 0;
  std::int64_t rows_ = 0;
  std::string last_key_;
  std::unordered_set<std::string> seen_;
  bool log_ended_ = false;
  bool ended_ = false;
};

}  // namespace

CheckedExport check_export(const std::filesystem::path& file, const ExportTrust& trust,
                           const std::function<void(std::int64_t, std::int64_t)>& progress) {
  return ExportCheck(file, trust).run(progress);
}

}  // namespace writ
