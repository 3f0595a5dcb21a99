// A payout in three steps, each committing with its recovery point: reserve the money, let the bank pay, book it.
//
//   example_payout postgres:///shop KEY CENTS [MS]        MS: how long the bank takes
//
// Kill it between steps or in the middle of one and start it again with the same key: it goes on after the last step
// that has finished. Two things guard the money besides the key. The account's row is locked before its balance is
// looked at, so two payouts cannot spend the same cent. And the payout is a state machine: each step moves it from one
// named state to the next, and fails if it does not find the state before.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <libpq-fe.h>

#include <semel/clock.h>
#include <semel/operation.h>
#include <semel/postgres.h>

namespace {

class Database {
 public:
  explicit Database(const std::string& url) : raw_(PQconnectdb(url.c_str()), &PQfinish) {
    if (PQstatus(raw_.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(raw_.get()));
  }

  [[nodiscard]] PGconn* get() const { return raw_.get(); }

  // The first value of the answer, "" if there is none. Throws: in a step, that rolls the step back.
  std::string ask(const char* sql, const std::vector<std::string>& values = {}) const {
    std::vector<const char*> texts;
    for (const std::string& value : values) texts.push_back(value.c_str());
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(
        PQexecParams(raw_.get(), sql, static_cast<int>(texts.size()), nullptr, texts.data(), nullptr, nullptr, 0),
        &PQclear);
    if (PQresultStatus(result.get()) > PGRES_TUPLES_OK) throw std::runtime_error(PQerrorMessage(raw_.get()));
    return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
  }

 private:
  std::unique_ptr<PGconn, decltype(&PQfinish)> raw_;
};

constexpr const char* tables = R"sql(
DO $$ BEGIN
  PERFORM pg_advisory_xact_lock(20261115);
  CREATE TABLE IF NOT EXISTS accounts (name text PRIMARY KEY, cents bigint NOT NULL CHECK (cents >= 0));
  CREATE TABLE IF NOT EXISTS payouts (key text PRIMARY KEY, cents bigint NOT NULL, state text NOT NULL);
  CREATE TABLE IF NOT EXISTS ledger (key text NOT NULL, entry text NOT NULL);
  CREATE TABLE IF NOT EXISTS bank_transfers (idempotency_key text PRIMARY KEY, cents bigint NOT NULL);
  INSERT INTO accounts VALUES ('shop', 1000000000) ON CONFLICT DO NOTHING;
END $$)sql";

// The bank: another company with a database of its own, and an Idempotency-Key that it honours.
void transfer(const Database& bank, const std::string& idempotency_key, const std::string& cents, int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds / 2));
  bank.ask("INSERT INTO bank_transfers VALUES ($1, $2) ON CONFLICT DO NOTHING", {idempotency_key, cents});
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds / 2));
}

// From one state to the next. A caller that finds another state has a bug or a rival, and changes nothing.
void advance(const Database& database, const std::string& key, const char* from, const char* to) {
  const std::string moved =
      database.ask("UPDATE payouts SET state = $3 WHERE key = $1 AND state = $2 RETURNING key", {key, from, to});
  if (moved.empty()) throw std::logic_error("the payout is not in the state that this step begins in");
}

semel::Response said(std::uint16_t status, std::string body) {
  return {.status = status, .fields = {}, .body = std::move(body)};
}

struct Payout {
  std::string key;
  std::string cents;
  int bank_takes_ms;
};

semel::Outcome pay_out(const Database& database, const Database& bank, const Payout& payout,
                       semel::Operation& operation) {
  const semel::SharedResponse reserved = operation.step("reserve", [&](semel::Fence) {
    // First lock, then look: nobody else can spend the balance that is read here.
    database.ask("SELECT cents FROM accounts WHERE name = 'shop' FOR UPDATE");
    const std::string left = database.ask(
        "UPDATE accounts SET cents = cents - $1 WHERE name = 'shop' AND cents >= $1 RETURNING cents", {payout.cents});
    if (left.empty()) return semel::Outcome::kept(said(402, "not enough money"));  // for good: a retry gets the same
    database.ask("INSERT INTO payouts VALUES ($1, $2, 'reserved')", {payout.key, payout.cents});
    database.ask("INSERT INTO ledger VALUES ($1, 'reserved')", {payout.key});
    return semel::Outcome::kept(said(200, "reserved"));
  });
  if (reserved == nullptr) return semel::Outcome::unknown();
  if (reserved->status != 200) return semel::Outcome::kept(*reserved);

  const semel::SharedResponse paid = operation.step("transfer", [&](semel::Fence) {
    advance(database, payout.key, "reserved", "paid");
    transfer(bank, operation.key_for("transfer"), payout.cents, payout.bank_takes_ms);
    database.ask("INSERT INTO ledger VALUES ($1, 'paid')", {payout.key});
    return semel::Outcome::kept(said(200, "paid"));
  });
  if (paid == nullptr) return semel::Outcome::unknown();

  const semel::SharedResponse booked = operation.step("book", [&](semel::Fence) {
    advance(database, payout.key, "paid", "booked");
    database.ask("INSERT INTO ledger VALUES ($1, 'booked')", {payout.key});
    return semel::Outcome::kept(said(200, "booked"));
  });
  if (booked == nullptr) return semel::Outcome::unknown();
  return semel::Outcome::kept(said(201, "paid out " + payout.cents + " cents"));
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) return std::cerr << "example_payout URL KEY CENTS [MS]\n", 2;
  const std::string url = arguments[1];
  const auto clock = semel::make_system_clock();
  const auto migrated = semel::migrate_postgres(*clock, url);
  const auto key = semel::make_key("payouts", "shop", arguments[2]);
  if (!migrated || !key) return std::cerr << (migrated ? key.error() : migrated.error()).detail << "\n", 1;
  const Database database(url);
  const Database bank(url);
  database.ask(tables);

  const Payout payout{arguments[2], arguments[3], count > 4 ? std::atoi(arguments[4]) : 0};
  const semel::Fingerprint fingerprint =
      semel::fingerprint({.method = {}, .target = "payout", .body = payout.cents}, semel::BodyForm::raw);
  const semel::Policy policy{.ttl = std::chrono::days(30)};
  const semel::Answer answer =
      semel::run_operation(database.get(), *key, fingerprint, policy,
                           [&](semel::Operation& operation) { return pay_out(database, bank, payout, operation); });
  if (const auto* ran = std::get_if<semel::Ran>(&answer)) {
    std::cout << "ran: " << ran->outcome.response->body << std::endl;
    return ran->outcome.verdict == semel::Verdict::keep ? 0 : 1;
  }
  if (const auto* again = std::get_if<semel::Replayed>(&answer)) {
    std::cout << "replayed: " << again->response->body << std::endl;
    return 0;
  }
  const auto& refused = std::get<semel::Refused>(answer);
  std::cout << "refused: " << refused.problem.slug() << " " << refused.detail << std::endl;
  return 1;
}
