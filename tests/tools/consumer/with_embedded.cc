// The component embedded is enough to open a store on RocksDB: a folder that cannot be made is an error, said in words.
#include <cstdio>

#include <semel/clock.h>
#include <semel/stores.h>

int main() {
  const auto clock = semel::make_system_clock();
  const auto store = semel::open_embedded_store(*clock, {.path = "/proc/no-such-folder"});
  std::printf("%s\n", store ? "opened" : "embedded is linked");
}
