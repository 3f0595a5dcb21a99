// A payments API on Boost.Beast with coroutines: plain boost::asio::awaitable, one thread, the embedded store.
//
//   example_coroutines FOLDER          asks itself twice for the same payment, prints both answers, and ends
//   example_coroutines FOLDER 8080     serves until it is interrupted
//
// The server's coroutines have Asio's usual executor, so guarded() is told on which io_context Semel's run: the same.
#include <cstdint>
#include <exception>
#include <iostream>
#include <random>
#include <string>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include <semel/beast.h>
#include <semel/clock.h>
#include <semel/guard.h>
#include <semel/once.h>
#include <semel/stores.h>

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

struct Service {
  asio::io_context& context;
  const semel::Guard& guard;
  semel::Once& once;
  int payments = 0;
};

// The business code. It may await whatever it likes.
semel::Task<semel::BeastResponse> pay(Service* service, const semel::BeastRequest& request) {
  semel::BeastResponse reply(http::status::created, request.version());
  reply.body() = "payment " + std::to_string(++service->payments);
  co_return reply;
}

asio::awaitable<void> serve(Service* service, tcp::socket socket) {
  boost::beast::flat_buffer buffer;
  const std::string peer = socket.remote_endpoint().address().to_string();
  for (bool open = true; open;) {
    semel::BeastRequest request;
    co_await http::async_read(socket, buffer, request, asio::use_awaitable);
    semel::BeastHandler handler = [service](const semel::BeastRequest& asked, semel::Fence) {
      return pay(service, asked);
    };
    semel::BeastResponse reply =
        co_await semel::guarded(service->context, service->guard, service->once, request, peer, std::move(handler));
    open = reply.keep_alive();
    co_await http::async_write(socket, reply, asio::use_awaitable);
  }
}

asio::awaitable<void> accept(Service* service, tcp::acceptor* acceptor) {
  for (;;) {
    tcp::socket socket = co_await acceptor->async_accept(asio::use_awaitable);
    asio::co_spawn(service->context, serve(service, std::move(socket)), asio::detached);
  }
}

// A client that does not trust its first answer.
asio::awaitable<void> ask_twice(asio::io_context* context, std::uint16_t port, std::string key) {
  tcp::socket socket(*context);
  const tcp::endpoint server(asio::ip::address_v4::loopback(), port);
  co_await socket.async_connect(server, asio::use_awaitable);
  boost::beast::flat_buffer buffer;
  for (int i = 0; i < 2; ++i) {
    semel::BeastRequest request(http::verb::post, "/payments", 11);
    request.set(http::field::authorization, "Bearer ann");
    request.set("Idempotency-Key", key);
    request.body() = R"({"amount": 10})";
    request.prepare_payload();
    co_await http::async_write(socket, request, asio::use_awaitable);
    semel::BeastResponse reply;
    co_await http::async_read(socket, buffer, reply, asio::use_awaitable);
    std::cout << reply.result_int() << (reply.count("Idempotent-Replayed") == 0 ? " ran: " : " replayed: ")
              << reply.body() << "\n";
  }
  context->stop();
}

}  // namespace

int main(int count, char** arguments) {
  asio::io_context context(1);
  const auto clock = semel::make_system_clock();
  const auto opened = semel::open_embedded_store(*clock, {.path = count > 1 ? arguments[1] : "semel-data"});
  const auto guard = semel::Guard::make({});
  if (!opened || !guard) {
    std::cerr << (opened ? guard.error() : opened.error()).detail << "\n";
    return 1;
  }
  semel::Once once(*opened->store, *clock, std::random_device()());
  Service service{.context = context, .guard = *guard, .once = once};
  const auto port = static_cast<std::uint16_t>(count > 2 ? std::stoi(arguments[2]) : 0);
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), port});
  asio::co_spawn(context, accept(&service, &acceptor), asio::detached);
  if (port == 0) {
    const std::string key = "order-" + std::to_string(std::random_device()());
    asio::co_spawn(context, ask_twice(&context, acceptor.local_endpoint().port(), key), asio::detached);
  }
  context.run();
}
