// Claims one key twice, using only what is installed.
#include <cstdio>
#include <exception>
#include <memory>
#include <variant>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <semel/clock.h>
#include <semel/key.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace {

semel::Async<void> claim_twice(semel::Store& store) {
  const auto key = semel::make_key("consumer", "", "k-1");
  if (!key) co_return std::unexpected(key.error());
  for (const std::uint64_t owner : {7U, 8U}) {
    const semel::Terms terms{.owner = owner};
    const auto claim = co_await store.claim(*key, semel::Fingerprint(), terms);
    if (!claim) co_return std::unexpected(claim.error());
    if (const auto* granted = std::get_if<semel::Granted>(&*claim)) {
      std::printf("granted %u, ", static_cast<unsigned>(granted->fence.number));
    } else {
      std::printf("then held\n");
    }
  }
  co_return semel::Result<void>();
}

}  // namespace

int main() {
  const auto clock = semel::make_system_clock();
  const auto opened = semel::make_memory_store(*clock);
  boost::asio::io_context context(1);
  int status = 1;
  boost::asio::co_spawn(
      context, claim_twice(*opened.store),
      [&](const std::exception_ptr& error, semel::Result<void> done) { status = error == nullptr && done ? 0 : 1; });
  bool posted = false;
  context.post([&] { posted = true; });  // deprecated, but which functions of Asio the consumer uses is its own affair
  context.run();
  return posted ? status : 1;
}
