// The component postgres is enough for the store and for one transaction. There is no server here.
#include <cstdio>
#include <variant>

#include <semel/clock.h>
#include <semel/operation.h>
#include <semel/postgres_transaction.h>
#include <semel/stores.h>

int main() {
  const auto clock = semel::make_system_clock();
  const auto store = semel::open_postgres_store(*clock, {.urls = {"postgres:///none?host=/nowhere"}});
  const auto act = [](semel::Fence) { return semel::Outcome::unknown(); };
  const semel::Answer answer = semel::once_in_transaction(nullptr, {}, {}, {}, act);
  std::printf("%s\n", store || !std::holds_alternative<semel::Refused>(answer) ? "wrong" : "postgres is linked");
}
