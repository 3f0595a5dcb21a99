// A Boost.Beast server behind a Guard, for the scenarios and the hammer: beast_server serve --config FILE
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
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
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include "adapters/endpoints.h"
#include <semel/beast.h>
#include <semel/once.h>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;
using Token = asio::use_awaitable_t<semel::Executor>;
using Stream = beast::basic_stream<tcp, semel::Executor>;
using Acceptor = asio::basic_socket_acceptor<tcp, semel::Executor>;

// The handler: the scenario's upstream is the business code.
semel::Task<semel::BeastResponse> forward(const semel::config::UpstreamConfig* upstream,
                                          const semel::BeastRequest* request, semel::Fence fence) {
  const semel::Executor executor = co_await asio::this_coro::executor;
  const auto& address = upstream->urls.front().authority;
  Stream stream(executor);
  stream.expires_after(upstream->timeout);
  const tcp::endpoint where(asio::ip::make_address(address.host), address.port);
  co_await stream.async_connect(where, Token());
  semel::BeastRequest sent = *request;
  sent.set("Idempotency-Attempt", std::to_string(fence.number));
  if (fence.number == 0) sent.erase("Idempotency-Attempt");
  sent.erase(http::field::expect);
  sent.chunked(false);
  sent.prepare_payload();
  sent.keep_alive(false);
  co_await http::async_write(stream, sent, Token());
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(boost::none);
  parser.skip(request->method() == http::verb::head);
  co_await http::async_read(stream, buffer, parser, Token());
  semel::BeastResponse answer = parser.release();
  if (answer.result_int() == 101) throw std::runtime_error("switching protocols is no answer");
  co_return answer;
}

semel::Task<void> serve(Stream stream, const semel::test::Endpoints* endpoints, semel::Once* once) {
  beast::flat_buffer buffer;
  try {
    for (;;) {
      http::request_parser<http::string_body> parser;
      parser.body_limit(boost::none);
      co_await http::async_read(stream, buffer, parser, Token());
      const semel::BeastRequest request = parser.release();
      const semel::test::Place* place = endpoints->find(std::string(request.target()));
      semel::BeastResponse reply(http::status::not_found, 11);
      reply.prepare_payload();
      if (place != nullptr) {
        semel::BeastHandler handler = [upstream = place->upstream](const semel::BeastRequest& asked,
                                                                   semel::Fence fence) {
          return forward(upstream, &asked, fence);
        };
        const std::string ip = stream.socket().remote_endpoint().address().to_string();
        reply = co_await semel::guarded(place->guard, *once, request, ip, std::move(handler));
      }
      const bool keep = request.keep_alive();
      co_await http::async_write(stream, reply, Token());
      if (!keep) co_return;
    }
  } catch (const std::exception&) {
    co_return;  // the client has gone, or does not speak HTTP
  }
}

semel::Task<void> listen(Acceptor acceptor, const semel::test::Endpoints* endpoints, semel::Once* once) {
  const semel::Executor executor = co_await asio::this_coro::executor;
  for (;;) {
    Stream stream(executor);
    co_await acceptor.async_accept(stream.socket(), Token());
    stream.socket().set_option(tcp::no_delay(true));
    asio::co_spawn(executor, serve(std::move(stream), endpoints, once), asio::detached);
  }
}

}  // namespace

int main(int count, char** arguments) {
  semel::test::Endpoints endpoints = semel::test::load_endpoints(count, arguments);
  auto context = std::make_unique<asio::io_context>(1);
  semel::Once once(*endpoints.store, *endpoints.clock, std::random_device()());
  const auto& address = endpoints.config->server.listen;
  const tcp::endpoint where(asio::ip::make_address(address.host), address.port);
  Acceptor acceptor(context->get_executor(), where);
  semel::test::announce(acceptor.local_endpoint().port());
  asio::co_spawn(context->get_executor(), listen(std::move(acceptor), &endpoints, &once), asio::detached);
  asio::signal_set signals(*context, SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code&, int) { context->stop(); });
  context->run();
  endpoints.store.reset();
}
