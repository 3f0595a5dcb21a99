// fault_hammer PATH SEED FIRST FREE_BYTES_MIN: claims and ends keys from 64 coroutines until something stops it.
//
// Every answer is told on standard output before it is acted upon (see events.h). Runs until it is killed or until the
// store has stopped; then it says what it was told and exits with 0. FIRST is the first key number that is new.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "faults/events.h"
#include <semel/clock.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace semel::faults {
namespace {

// One write per line: a pipe takes up to 4096 bytes whole or not at all.
void tell(const std::string& line) {
  if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(3);
}

void tell(const char* what, char detail, std::uint64_t key, Fence fence) {
  tell(std::string(what) + ' ' + detail + ' ' + std::to_string(key) + ' ' + std::to_string(fence.number) + ' ' +
       std::to_string(fence.owner) + '\n');
}

struct Hammer {
  Store& store;
  std::uint64_t random;
  std::uint64_t next_key;

  std::uint64_t pick() { return random = mix(random ^ 0x6A09E667F3BCC908U); }
  std::uint64_t pick_key() {
    switch (pick() % 4) {
      case 0:
        return pick() % (next_key + 1);  // any
      case 1:
        return next_key - std::min<std::uint64_t>(next_key, pick() % 100);  // one that others are busy with
      default:
        return next_key++;
    }
  }
};

// False if the store will not answer any more.
bool goes_on(const Error& error) {
  const bool over = error.code == Code::unavailable;
  tell("said " + std::to_string(static_cast<int>(error.code)) + ' ' + error.detail + '\n');
  return !over;
}

// Ends the claim in one of the ways there are, or walks away from it.
Async<void> end(Hammer* hammer, std::uint64_t number, Fence fence) {
  const std::uint64_t way = hammer->pick() % 10;
  if (way == 0) co_return Result<void>{};
  const Op op = way == 1 ? Op::release : way == 2 ? Op::unknown : Op::complete;
  tell("try", static_cast<char>(op), number, fence);
  Result<void> ended;
  if (op == Op::release) {
    ended = co_await hammer->store.release(key_of(number), fence);
  } else {
    const SharedResponse response = op == Op::complete ? response_of(number, fence) : nullptr;
    ended = co_await hammer->store.complete(key_of(number), fence, response);
  }
  if (ended) tell("ok", static_cast<char>(op), number, fence);
  co_return ended;
}

Task<void> work(Hammer* hammer) {
  for (bool go = true; go;) {
    const std::uint64_t number = hammer->pick_key();
    const Fingerprint fingerprint;
    Terms terms;
    terms.owner = hammer->pick() | 1U;
    terms.lapsed = taken_over(number) ? Terms::Lapsed::taken_over : Terms::Lapsed::stands;
    terms.lease = taken_over(number) ? short_lease : long_lease;
    tell("try", static_cast<char>(Op::claim), number, {.number = 0, .owner = terms.owner});
    const Result<Claim> claimed = co_await hammer->store.claim(key_of(number), fingerprint, terms);
    if (!claimed) {
      go = goes_on(claimed.error());
      continue;
    }
    if (const Held* held = std::get_if<Held>(&*claimed)) {
      tell("held", static_cast<char>('0' + static_cast<int>(held->record.state)), number, held->record.fence);
      continue;
    }
    const Fence fence = std::get<Granted>(*claimed).fence;
    tell("ok", static_cast<char>(Op::claim), number, fence);
    if (hammer->pick() % 20 == 0) {  // as after an answer that was lost: the same owner asks again
      const Result<Claim> again = co_await hammer->store.claim(key_of(number), fingerprint, terms);
      const Granted* same = again ? std::get_if<Granted>(&*again) : nullptr;
      if (same != nullptr) tell("ok", static_cast<char>(Op::claim), number, same->fence);
      if (same == nullptr || same->fence != fence) continue;
    }
    const Result<void> ended = co_await end(hammer, number, fence);
    if (!ended && ended.error().code != Code::fenced) go = goes_on(ended.error());
  }
}

int run(const std::vector<std::string>& args) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  EmbeddedOptions options;
  options.path = args.at(0);
  options.free_bytes_min = std::stoull(args.at(3));
  Result<OpenedStore> opened = open_embedded_store(*clock, options);
  if (!opened) {
    tell("said " + std::to_string(static_cast<int>(opened.error().code)) + ' ' + opened.error().detail + '\n');
    return 0;
  }
  tell("open\n");
  boost::asio::io_context context(1);
  Hammer hammer{*opened->store, std::stoull(args.at(1)), std::stoull(args.at(2))};
  for (int i = 0; i < 64; ++i) {
    boost::asio::co_spawn(context.get_executor(), work(&hammer), [](const std::exception_ptr& error) {
      if (error) std::rethrow_exception(error);
    });
  }
  context.run();
  opened->store.reset();
  tell("end\n");
  return 0;
}

}  // namespace
}  // namespace semel::faults

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() == 4) return semel::faults::run(args);
  std::fputs("usage: fault_hammer PATH SEED FIRST FREE_BYTES_MIN\n", stderr);
  return 2;
}
