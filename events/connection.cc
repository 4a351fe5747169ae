#include "events/connection.h"

#include <libpq-fe.h>
#include <sys/socket.h>

#include <map>
#include <memory>
#include <utility>

namespace writ {
namespace {

constexpr char kSessionOptions[] =
    "-c synchronous_commit=on -c default_transaction_isolation=read\\ committed "
    "-c idle_in_transaction_session_timeout=10s -c statement_timeout=30s -c lock_timeout=10s "
    "-c timezone=UTC -c client_encoding=UTF8 -c search_path=writ "
    // Every statement is planned once: planning the append anew would cost more than running it.
    "-c plan_cache_mode=force_generic_plan";

std::string quoted(const std::string& value) {
  std::string out = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

/// One line, without libpq's trailing line feeds.
std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (char& c : text)
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  return text;
}

/// What libpq says of a text it cannot read, up to where it repeats the text: that may be a
/// password.
std::string without_quotation(const std::string& why) {
  for (std::size_t quote = why.find('"'); quote != std::string::npos;) {
    const bool one_character = quote + 2 < why.size() && why[quote + 2] == '"';  // "=" or "]"
    if (!one_character) return why.substr(0, quote) + "...";
    quote = why.find('"', quote + 3);
  }
  return why;
}

bool says_connection_lost(const std::string& sqlstate) {
  // 08: connection exceptions; 57P0x: shut down, crash recovery, not yet accepting connections;
  // 25P03: our own idle_in_transaction_session_timeout, which ends the session.
  return sqlstate.starts_with("08") || sqlstate.starts_with("57P") || sqlstate == "25P03";
}

/// libpqxx 6.4 leaves this one's code out.
std::string sqlstate_of(const pqxx::sql_error& error) {
  if (dynamic_cast<const pqxx::insufficient_privilege*>(&error) != nullptr) return "42501";
  return error.sqlstate();
}

}  // namespace

std::string with_session_settings(const std::string& conninfo) {
  char* error = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> parsed(
      PQconninfoParse(conninfo.c_str(), &error), &PQconninfoFree);
  if (!parsed) {
    const std::string why = error != nullptr ? without_quotation(one_line(error)) : "out of memory";
    PQfreemem(error);
    throw StartError("the database URL is malformed: " + why);
  }
  std::map<std::string, std::string> values = {
      {"application_name", "writ"}, {"connect_timeout", "5"}, {"tcp_user_timeout", "10000"}};
  for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option)
    if (option->val != nullptr) values[option->keyword] = option->val;
  values["client_encoding"] = "UTF8";  // also over PGCLIENTENCODING, which would win over `options`
  std::string& options = values["options"];
  options += (options.empty() ? "" : " ") + std::string(kSessionOptions);
  std::string out;
  for (const auto& [keyword, value] : values) {
    if (!out.empty()) out += ' ';
    out += keyword + '=' + quoted(value);
  }
  return out;
}

Connection::Connection(const std::string& conninfo) {
  try {
    connection_ = std::make_unique<pqxx::connection>(conninfo);
    // libpqxx 6.4 would reconnect in the middle of what we hold to be one transaction.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    connection_->inhibit_reactivation(true);
#pragma GCC diagnostic pop
    // Notices go to the server's log; libpqxx would print them on our stderr.
    connection_->set_verbosity(pqxx::connection_base::terse);
  } catch (const pqxx::failure& e) {
    throw ConnectionLost(one_line(e.what()));
  }
}

void Connection::prepare(const std::string& name, const std::string& sql) {
  connection_->prepare(name, sql);
}

pqxx::result Connection::exec(const std::string& sql) {
  return guarded([&](pqxx::nontransaction& work) { return work.exec(sql); });
}

pqxx::result Connection::exec_params(const std::string& sql, const std::vector<std::string>& args) {
  return guarded([&](pqxx::nontransaction& work) {
    return work.exec_params(sql, pqxx::prepare::make_dynamic_params(args));
  });
}

/// Counts what libpqxx hands out while it reads from the connection.
class Connection::Listener : public pqxx::notification_receiver {
 public:
  Listener(pqxx::connection& connection, const std::string& channel)
      : pqxx::notification_receiver(connection, channel) {}
  void operator()(const std::string&, int) override { heard_ = true; }
  bool take() { return std::exchange(heard_, false); }

 private:
  bool heard_ = false;
};

Connection::~Connection() = default;

void Connection::listen(const std::string& channel) {
  guard([&] { listener_ = std::make_unique<Listener>(*connection_, channel); });
}

bool Connection::wait_for_notification(std::chrono::milliseconds at_most) {
  guard([&] {
    connection_->await_notification(at_most.count() / 1000, at_most.count() % 1000 * 1000);
  });
  return listener_->take();
}

void Connection::cut() noexcept { shutdown(connection_->sock(), SHUT_RDWR); }

pqxx::result Connection::guarded(const std::function<pqxx::result(pqxx::nontransaction&)>& run) {
  pqxx::result rows;
  guard([&] {
    pqxx::nontransaction work(*connection_);
    rows = run(work);
  });
  return rows;
}

void Connection::guard(const std::function<void()>& run) {
  try {
    run();
  } catch (const pqxx::sql_error& e) {
    const std::string sqlstate = sqlstate_of(e);
    if (connection_->is_open() && !sqlstate.empty() && !says_connection_lost(sqlstate))
      throw StorageError(one_line(e.what()), sqlstate);
    usable_ = false;
    throw ConnectionLost(one_line(e.what()));
  } catch (const pqxx::statement_completion_unknown& e) {
    usable_ = false;
    throw ConnectionLost(one_line(e.what()));
  } catch (const pqxx::transaction_rollback& e) {
    throw StorageError(one_line(e.what()), "40000");
  } catch (const pqxx::failure& e) {
    usable_ = false;
    throw ConnectionLost(one_line(e.what()));
  }
}

}  // namespace writ
