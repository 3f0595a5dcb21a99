// A second guard: a unique constraint on the business key. It holds even where an Idempotency-Key cannot help: a client
// that makes a new key for the same order, or a key that has expired.
//
//   example_second_guard postgres:///shop          (libpqxx)
#include <iostream>
#include <random>
#include <string>
#include <variant>

#include <semel/clock.h>
#include <semel/postgres.h>
#include <semel/pqxx_transaction.h>

namespace {

// One order is paid for once, whatever its key. The constraint decides, not a SELECT before the INSERT.
semel::Outcome pay(pqxx::work& work, const std::string& order) {
  const pqxx::result paid = work.exec_params(
      "INSERT INTO order_payments (order_id) VALUES ($1) ON CONFLICT (order_id) DO NOTHING RETURNING id", order);
  if (!paid.empty()) {
    return semel::Outcome::kept({.status = 201, .fields = {}, .body = "paid as " + std::string(paid[0][0].c_str())});
  }
  const pqxx::row first = work.exec_params1("SELECT id FROM order_payments WHERE order_id = $1", order);
  return semel::Outcome::kept({.status = 200, .fields = {}, .body = "was paid as " + std::string(first[0].c_str())});
}

std::string told(const semel::Answer& answer) {
  if (const auto* ran = std::get_if<semel::Ran>(&answer)) return "ran: " + ran->outcome.response->body;
  if (const auto* again = std::get_if<semel::Replayed>(&answer)) return "replayed: " + again->response->body;
  return "refused: " + std::get<semel::Refused>(answer).detail;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return std::cerr << "example_second_guard URL\n", 2;
  const auto clock = semel::make_system_clock();
  if (const auto migrated = semel::migrate_postgres(*clock, arguments[1]); !migrated) {
    return std::cerr << migrated.error().detail << "\n", 1;
  }
  pqxx::connection connection(arguments[1]);
  {
    pqxx::work work(connection);
    work.exec("CREATE TABLE IF NOT EXISTS order_payments (id serial PRIMARY KEY, order_id text NOT NULL UNIQUE)");
    work.commit();
  }
  const std::string order = "order-" + std::to_string(std::random_device()());
  for (const char* name : {"key-1", "key-1", "key-2"}) {
    const auto key = semel::make_key("orders", order, name);
    const auto act = [&](pqxx::work& work, semel::Fence) { return pay(work, order); };
    std::cout << name << " " << told(semel::once_in_transaction(connection, *key, {}, {}, act)) << "\n";
  }
}
