// An out-of-order guard: events of one object may arrive in any order and more than once; an older one never overwrites
// a newer one.
//
//   example_out_of_order postgres:///shop          (libpqxx)
#include <iostream>
#include <random>
#include <string>
#include <variant>

#include <semel/clock.h>
#include <semel/postgres.h>
#include <semel/pqxx_transaction.h>

namespace {

struct Event {
  std::string id;
  std::string object;
  int version;  // as the sender counts, or its time; what matters is that it grows
  std::string state;
};

// The row remembers how new it is. Comparing and writing are one statement, so two events at once cannot both be right.
semel::Outcome apply(pqxx::work& work, const Event& event) {
  const pqxx::result changed = work.exec_params(
      "INSERT INTO subscriptions AS s (object, version, state) VALUES ($1, $2, $3) "
      "ON CONFLICT (object) DO UPDATE SET version = excluded.version, state = excluded.state "
      "WHERE s.version < excluded.version RETURNING state",
      event.object, event.version, event.state);
  return semel::Outcome::kept(
      {.status = 200, .fields = {}, .body = changed.empty() ? "too old, not applied" : "applied"});
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return std::cerr << "example_out_of_order URL\n", 2;
  const auto clock = semel::make_system_clock();
  if (const auto migrated = semel::migrate_postgres(*clock, arguments[1]); !migrated) {
    return std::cerr << migrated.error().detail << "\n", 1;
  }
  pqxx::connection connection(arguments[1]);
  {
    pqxx::work work(connection);
    work.exec("CREATE TABLE IF NOT EXISTS subscriptions (object text PRIMARY KEY, version int NOT NULL, state text)");
    work.commit();
  }
  const std::string object = "sub-" + std::to_string(std::random_device()());
  const Event created{object + "-e1", object, 1, "created"};
  const Event active{object + "-e2", object, 2, "active"};
  const Event cancelled{object + "-e3", object, 3, "cancelled"};
  for (const Event& event : {created, cancelled, active, cancelled}) {
    const auto key = semel::make_key("events", "", event.id);
    const auto act = [&](pqxx::work& work, semel::Fence) { return apply(work, event); };
    const semel::Answer answer = semel::once_in_transaction(connection, *key, {}, {}, act);
    const auto* ran = std::get_if<semel::Ran>(&answer);
    const auto* again = std::get_if<semel::Replayed>(&answer);
    std::cout << event.state << ": " << (ran != nullptr ? ran->outcome.response->body : "a duplicate") << "\n";
    if (ran == nullptr && again == nullptr) return 1;
  }
  pqxx::work work(connection);
  std::cout << "now " << work.exec_params1("SELECT state FROM subscriptions WHERE object = $1", object)[0].c_str()
            << "\n";
}
