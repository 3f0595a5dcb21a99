// The middleware as it would be used, for a load: Beast, a Guard, the embedded store, one thread, an answer of 515
// bytes.
//
//   guard_server FOLDER PORT
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include <semel/beast.h>
#include <semel/clock.h>
#include <semel/stores.h>

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using Token = asio::use_awaitable_t<semel::Executor>;
using Socket = asio::basic_stream_socket<tcp, semel::Executor>;
using Acceptor = asio::basic_socket_acceptor<tcp, semel::Executor>;

semel::Task<semel::BeastResponse> answer() {
  semel::BeastResponse said(http::status::ok, 11);
  said.set(http::field::content_type, "application/json");
  said.body() = R"({"id":"ch_1","status":"succeeded","note":")" + std::string(470, 'x') + R"("})";
  co_return said;
}

semel::Task<void> serve(Socket socket, const semel::Guard* guard, semel::Once* once) {
  boost::beast::flat_buffer buffer;
  try {
    for (;;) {
      semel::BeastRequest request;
      co_await http::async_read(socket, buffer, request, Token());
      semel::BeastHandler handler = [](const semel::BeastRequest&, semel::Fence) { return answer(); };
      semel::BeastResponse reply = co_await semel::guarded(*guard, *once, request, "127.0.0.1", std::move(handler));
      co_await http::async_write(socket, reply, Token());
    }
  } catch (const std::exception&) {
    co_return;
  }
}

semel::Task<void> listen(Acceptor acceptor, const semel::Guard* guard, semel::Once* once) {
  const semel::Executor executor = co_await asio::this_coro::executor;
  for (;;) {
    Socket socket = co_await acceptor.async_accept(Token());
    socket.set_option(tcp::no_delay(true));
    asio::co_spawn(executor, serve(std::move(socket), guard, once), asio::detached);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const auto clock = semel::make_system_clock();
  auto opened = semel::open_embedded_store(*clock, {.path = arguments[1]});
  const auto guard = semel::Guard::make({.scope = ""});
  if (!opened || !guard) {
    std::cerr << (opened ? guard.error() : opened.error()).detail << "\n";
    return 1;
  }
  semel::Once once(*opened->store, *clock, std::random_device()());
  asio::io_context context(1);
  const tcp::endpoint where(asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(std::atoi(arguments[2])));
  asio::co_spawn(context, listen(Acceptor(context.get_executor(), where), &*guard, &once), asio::detached);
  asio::signal_set signals(context, SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code&, int) { context.stop(); });
  context.run();
  opened->store.reset();
}
