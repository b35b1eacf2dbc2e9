// A store on a PostgreSQL server, by libpqxx.
#include <algorithm>
#include <chrono>
#include <optional>
#include <pqxx/pqxx>
#include <thread>

#include "base/capped.h"
#include "base/plain_text.h"
#include "store/address.h"
#include "store/database.h"

namespace ampere {
namespace {

using Clock = std::chrono::steady_clock;

// PostgreSQL keeps no text that is not UTF-8 or has a zero byte in it. Such a text is kept in hex.
constexpr const char* kHexMark = "\x01hex:";

std::string to_server(const std::string& text) {
  const bool plain = text.find('\0') == std::string::npos && text.rfind(kHexMark, 0) != 0 && is_utf8(text);
  if (plain) return text;
  static const char* digits = "0123456789abcdef";
  std::string out = kHexMark;
  for (const char c : text) {
    out += digits[static_cast<unsigned char>(c) >> 4];
    out += digits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

std::string from_server(const std::string& text) {
  const std::string mark = kHexMark;
  if (text.rfind(mark, 0) != 0) return text;
  std::string out;
  for (std::size_t i = mark.size(); i + 1 < text.size(); i += 2)
    out += static_cast<char>(std::strtol(text.substr(i, 2).c_str(), nullptr, 16));
  return out;
}

std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return capped(text, 500);
}

bool contains(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return text.find(word) != std::string::npos; });
}

// How long a server that went away is waited for: AMPERE_STORE_TIMEOUT, in seconds.
double patience_s() {
  const char* text = std::getenv("AMPERE_STORE_TIMEOUT");
  if (!text || !*text) return 60;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (*end != '\0' || !(seconds >= 0 && seconds <= 86400)) {
    throw bad_input(
        std::string("AMPERE_STORE_TIMEOUT must be a number of seconds from 0 to 86400, found \"") + text +
        "\"");
  }
  return seconds;
}

class PostgresDatabase final : public Database {
 public:
  explicit PostgresDatabase(const std::string& address)
      : address_(address), name_(printable_address(address)), patience_s_(patience_s()) {
    const auto deadline = Clock::now() + std::chrono::duration<double>(patience_s_);
    while (true) {
      try {
        connect();
        break;
      } catch (const ServerAway& e) {
        // One that is just being started or stopped, or has no place left, is worth waiting for.
        const bool soon = contains(e.what(), {"starting up", "shutting down", "too many clients",
                                              "remaining connection slots", "recovery mode"});
        if (!soon || Clock::now() > deadline) throw;
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
      }
    }
    const char* database = connection_->dbname();
    const char* user = connection_->username();
    database_ = database ? database : "";
    user_ = user ? user : "";
    const char* host = connection_->hostname();
    const char* port = connection_->port();
    place_ = std::string(host ? host : "") + "|" + (port ? port : "") + "|" + database_;
    // Schemas of one database are stores of their own.
    for (const SqlRow& row : query("SELECT current_schema()", {})) place_ += "|" + row.text(0);
  }

  ~PostgresDatabase() override { rollback(); }
  PostgresDatabase(const PostgresDatabase&) = delete;
  PostgresDatabase& operator=(const PostgresDatabase&) = delete;

  std::vector<SqlRow> query(const std::string& sql, const std::vector<SqlValue>& values) override {
    std::vector<std::string> texts;
    for (const SqlValue& value : values) {
      const auto* integer = std::get_if<std::int64_t>(&value);
      texts.push_back(integer ? std::to_string(*integer) : to_server(std::get<std::string>(value)));
    }
    return ask([&](pqxx::transaction_base& transaction) {
      std::vector<SqlRow> rows;
      const pqxx::result found =
          transaction.exec_params(sql, pqxx::prepare::make_dynamic_params(texts.begin(), texts.end()));
      rows.reserve(static_cast<std::size_t>(found.size()));
      for (const auto& row : found) {
        std::vector<std::string> cells;
        for (const auto& field : row) cells.push_back(field.is_null() ? "" : from_server(field.c_str()));
        rows.emplace_back(std::move(cells));
      }
      return rows;
    });
  }

  void execute(const std::string& sql) override {
    ask([&](pqxx::transaction_base& transaction) {
      transaction.exec(sql);
      return 0;
    });
  }

  void begin(bool patient) override {
    patiently(patient, [&] {
      transaction_ = std::make_unique<pqxx::work>(*connection_);
      return 0;
    });
  }

  void commit() override {
    translated([&] {
      transaction_->commit();
      transaction_.reset();
      return 0;
    });
  }

  void rollback() noexcept override {
    try {
      transaction_.reset();
    } catch (...) {  // the server has gone; it takes back what was not committed by itself
      connection_.reset();
    }
  }
  bool in_transaction() const override { return transaction_ != nullptr; }

  int schema_version() override {
    // From the catalogue itself: to_regclass() may not see what another has made since this session last
    // asked.
    bool ours = false, others = false;
    for (const SqlRow& row :
         query("SELECT relname FROM pg_catalog.pg_class WHERE pg_table_is_visible(oid) AND "
               "relname IN ('ampere_store', 'device', 'point')",
               {}))
      (row.text(0) == "ampere_store" ? ours : others) = true;
    if (ours) {
      const auto version = query("SELECT version FROM ampere_store", {});
      return version.empty() ? 0 : static_cast<int>(version.front().integer(0));
    }
    if (others) {
      throw bad_input(
          name_ +
          ": has tables of another program that are called as ours; give ampere a database of its "
          "own, or a schema: CREATE SCHEMA ampere, and ?options=-csearch_path%3Dampere");
    }
    return 0;
  }
  void set_schema_version(int version) override {
    execute("CREATE TABLE IF NOT EXISTS ampere_store (version INTEGER NOT NULL); DELETE FROM ampere_store");
    query("INSERT INTO ampere_store(version) VALUES($1)", {std::int64_t{version}});
  }
  void lock_schema() override { query("SELECT pg_advisory_xact_lock(1095585874)", {}); }  // "AMPR"
  void ready() override {}
  std::string id_type() const override { return "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"; }
  std::string text_type() const override { return "TEXT COLLATE \"C\""; }

  void require_writer() override {
    const auto rows = query(
        "SELECT has_table_privilege('point', 'INSERT') AND "
        "has_table_privilege('device', 'INSERT, UPDATE')",
        {});
    if (rows.at(0).text(0) != "t") only_reads();
  }

  void grant(const std::string& role, bool write) override {
    std::string schema = query("SELECT current_schema()", {}).at(0).text(0);  // after which we are connected
    schema = connection_->quote_name(schema);
    const std::string quoted = connection_->quote_name(role);
    execute("GRANT USAGE ON SCHEMA " + schema + " TO " + quoted + "; GRANT SELECT ON ampere_store TO " +
            quoted + "; GRANT SELECT" + (write ? ", INSERT, UPDATE, DELETE" : "") +
            " ON device, surface, point, fact TO " + quoted);
  }

  std::string place() const override { return place_; }

 private:
  [[noreturn]] void only_reads() const {
    throw bad_input(name_ + ": the role \"" + user_ +
                    "\" may read this store, and not write to it; connect as another, or have its owner run: "
                    "ampere store grant --writer " +
                    user_);
  }

  [[noreturn]] void not_allowed(const std::string& why) {
    if (contains(why, {"schema"})) {
      throw bad_input(name_ + ": the role \"" + user_ + "\" may not make the tables of a store there (" +
                      why + "); have the owner of the database run: ampere store grant --writer " + user_);
    }
    if (query("SELECT has_table_privilege('point', 'SELECT')", {}).at(0).text(0) == "t") only_reads();
    throw bad_input(name_ + ": the role \"" + user_ + "\" may not read this store (" + why +
                    "); connect as another, or have its owner run: ampere store grant --reader " + user_);
  }

  void connect() {
    if (connection_ && connection_->is_open()) return;
    transaction_.reset();
    connection_.reset();
    const auto began = Clock::now();
    try {
      connection_ = std::make_unique<pqxx::connection>(with_limits(address_));
      next_try_.reset();
    } catch (const std::exception& e) {
      // A network that swallows everything is not asked at every point.
      const auto took = Clock::now() - began;
      next_try_ = Clock::now() + std::max<Clock::duration>(took, std::chrono::milliseconds(500));
      why_ = without_secrets(one_line(e.what()), with_limits(address_));
      why_ = without_secrets(why_, address_);
      cannot_connect();
    }
  }

  [[noreturn]] void cannot_connect() const {
    // Once connected, the address is right, and whatever is wrong now may pass.
    if (!place_.empty()) throw ServerAway(name_ + ": the server cannot be reached any more (" + why_ + ")");
    if (contains(why_, {"password authentication failed", "no password supplied"})) {
      throw bad_input(name_ + ": " + why_ +
                      "; put the password into ~/.pgpass (or the file that PGPASSFILE names), not on the "
                      "command line");
    }
    if (contains(why_, {"does not exist", "not permitted to log in", "no pg_hba.conf entry"}))
      throw bad_input(name_ + ": " + why_ + "; ask whoever keeps the server");
    if (contains(why_, {"invalid", "missing", "definition of service"}))
      throw bad_input("--store is no address of a PostgreSQL server: " + why_ +
                      "; write postgresql://USER@HOST:PORT/DATABASE, or service=NAME of a service file");
    throw ServerAway(name_ + ": the server cannot be reached (" + why_ +
                     "); is it running, and are host and port right?");
  }

  // Runs `run`, and throws our own errors in place of libpqxx's.
  template <class Run>
  auto translated(const Run& run) -> decltype(run()) {
    std::string state, why;
    try {
      return run();
    } catch (const pqxx::in_doubt_error& e) {
      why = e.what();
      state = "08";
    } catch (const pqxx::broken_connection& e) {
      why = e.what();
      state = "08";
    } catch (const pqxx::transaction_rollback& e) {  // two writers that waited for each other
      rollback();
      throw WritersMet(name_ + ": " + one_line(e.what()) + "; try again");
    } catch (const pqxx::insufficient_privilege& e) {  // and some more that come without their code
      why = e.what();
      state = "42501";
    } catch (const pqxx::insufficient_resources& e) {
      why = e.what();
      state = "53000";
    } catch (const pqxx::sql_error& e) {
      state = e.sqlstate();
      why = e.what();
    } catch (const pqxx::failure& e) {
      why = e.what();
    }
    why = without_secrets(one_line(why), address_);
    rollback();
    const bool gone = !connection_ || !connection_->is_open();
    if (gone || state.rfind("08", 0) == 0 || state.rfind("57P", 0) == 0) {
      connection_.reset();
      throw ServerAway(name_ + ": the server went away (" + why + ")");
    }
    if (state == "40001" || state == "40P01") throw WritersMet(name_ + ": " + why + "; try again");
    if (state == "42501" || state == "3F000") not_allowed(why);  // no privilege, no schema to write to
    if (state == "25006") throw bad_input(name_ + ": the server only reads (" + why + "); name another");
    if (state == "42704") throw bad_input(name_ + ": " + why + "; make it with: CREATE ROLE NAME LOGIN");
    if (state.rfind("53", 0) == 0) throw ServerAway(name_ + ": the server has no room left (" + why + ")");
    throw Error(ErrorKind::kFailed, name_ + ": " + why);
  }

  template <class Run>
  auto ask(const Run& run) -> decltype(run(std::declval<pqxx::transaction_base&>())) {
    if (transaction_) return translated([&] { return run(*transaction_); });
    return patiently(true, [&] {
      pqxx::nontransaction transaction(*connection_);
      return run(transaction);
    });
  }

  // Connects where that is needed, and runs. A statement that a lost connection has cut off is run again: all
  // of ours may be.
  template <class Run>
  auto patiently(bool patient, const Run& run) -> decltype(run()) {
    if (!patient && next_try_ && Clock::now() < *next_try_) cannot_connect();
    const auto deadline = Clock::now() + std::chrono::duration<double>(patience_s_);
    // The first loss is told by the next statement, so that one more try is due even without patience.
    for (int tries = 0;; ++tries) {
      const bool was_open = connection_ && connection_->is_open();
      try {
        connect();
        return translated(run);
      } catch (const ServerAway&) {
        const bool again = patient ? Clock::now() < deadline : was_open && tries == 0;
        if (!again) throw;
        if (!was_open) std::this_thread::sleep_for(std::chrono::milliseconds(200));
      }
    }
  }

  std::string address_;
  std::string name_;
  double patience_s_;
  std::string database_, user_, place_;
  std::unique_ptr<pqxx::connection> connection_;
  std::unique_ptr<pqxx::work> transaction_;
  std::optional<Clock::time_point> next_try_;  // set while the server is away
  std::string why_;                            // it could not be reached last time
};

}  // namespace

std::unique_ptr<Database> open_postgres(const std::string& address) {
  return std::make_unique<PostgresDatabase>(address);
}

}  // namespace ampere
