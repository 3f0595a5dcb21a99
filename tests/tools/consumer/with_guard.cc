// The component guard is enough for a middleware: a request without a key is refused as the gateway refuses it.
#include <cstdio>

#include <semel/blocking_once.h>
#include <semel/clock.h>
#include <semel/guard.h>
#include <semel/stores.h>

int main() {
  const auto clock = semel::make_system_clock();
  const auto opened = semel::make_memory_store(*clock);
  semel::BlockingOnce once(*opened.store, *clock, 1);
  const auto guard = semel::Guard::make({});
  if (!guard) return 1;
  const semel::HttpRequest request{.method = "POST", .target = "/payments", .fields = {}, .body = "{}", .ip = {}};
  const auto handle = [](semel::Fence) { return semel::Response(); };
  const semel::Response reply = guard->run(once, request, handle);
  std::printf("%s\n", reply.status == 400 ? "guard is linked" : "wrong");
}
