// A shared library with Semel inside and one function outside.
#include <semel/blocking_once.h>
#include <semel/clock.h>
#include <semel/stores.h>

extern "C" int plugin_statuses() {
  const auto clock = semel::make_system_clock();
  const auto opened = semel::make_memory_store(*clock);
  semel::BlockingOnce once(*opened.store, *clock, 1);
  const auto key = semel::make_key("plugin", "", "k");
  const auto act = [](semel::Fence) { return semel::Outcome::kept({.status = 201, .fields = {}, .body = {}}); };
  const semel::Answer answer = once.run(*key, {}, {}, act);
  const auto* ran = std::get_if<semel::Ran>(&answer);
  return ran == nullptr ? 0 : ran->outcome.response->status;
}
