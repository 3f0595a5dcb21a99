// One connection, one request, one answer, with Beast's own reading and writing: nothing here is on a hot path.
#include "http/fetch.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/ssl/verify_mode.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/system/error_code.hpp>
#include <openssl/tls1.h>

#include "http/connection.h"
#include "http/failure.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::http {
namespace {

namespace asio = boost::asio;
namespace web = boost::beast::http;
using asio::ip::tcp;

constexpr auto quietly = asio::as_tuple(asio::use_awaitable_t<Executor>());
constexpr Millis time_max{10'000};
constexpr std::size_t body_bytes_max = 256U << 10U;

struct Place {
  bool secure = false;
  std::string host;
  std::string port;
  std::string target;
};

std::optional<Place> place_of(std::string_view url) {
  Place place;
  place.secure = url.starts_with("https://");
  if (!place.secure && !url.starts_with("http://")) return std::nullopt;
  url.remove_prefix(place.secure ? 8 : 7);
  const std::size_t slash = url.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  place.target = url.substr(slash);
  const std::string_view authority = url.substr(0, slash);
  const std::size_t colon = authority.rfind(':');
  place.host = authority.substr(0, colon);
  place.port = colon == std::string_view::npos ? (place.secure ? "443" : "80") : authority.substr(colon + 1);
  if (place.host.empty() || place.port.empty()) return std::nullopt;
  return place;
}

using Message = web::request<web::string_body>;

Message message_for(const Place& place, std::string body, const std::string& authorization) {
  Message message(body.empty() ? web::verb::get : web::verb::post, place.target, 11);
  message.set(web::field::host, place.host);
  message.set(web::field::user_agent, "semel");
  message.set(web::field::accept, "*/*");
  message.keep_alive(false);
  if (!authorization.empty()) message.set(web::field::authorization, authorization);
  const std::string_view type = body.starts_with('{') ? "application/json" : "application/x-www-form-urlencoded";
  if (!body.empty()) message.set(web::field::content_type, type);
  message.body() = std::move(body);
  message.prepare_payload();
  return message;
}

template <class Stream>
Attempted<std::string> talk(Stream* stream, Message message) {
  const auto [not_sent, sent] = co_await web::async_write(*stream, message, quietly);
  if (not_sent) co_return failed(Failure::broken);
  boost::beast::flat_buffer buffer;
  web::response_parser<web::string_body> parser;
  parser.body_limit(body_bytes_max);
  const auto [not_read, read] = co_await web::async_read(*stream, buffer, parser, quietly);
  if (not_read) co_return failed(Failure::malformed);
  if (parser.get().result() != web::status::ok) co_return failed(Failure::malformed);
  co_return std::move(parser.get().body());
}

Attempted<std::string> talk_securely(Socket* socket, const Place* place, Message message) {
  asio::ssl::context context(asio::ssl::context::tls_client);
  boost::system::error_code error;
  context.set_default_verify_paths(error);
  asio::ssl::stream<Socket&> stream(*socket, context);
  stream.set_verify_mode(asio::ssl::verify_peer, error);
  stream.set_verify_callback(asio::ssl::host_name_verification(place->host), error);
  const bool named = SSL_set_tlsext_host_name(stream.native_handle(), place->host.c_str()) == 1;
  if (error || !named) co_return failed(Failure::broken);
  const auto [not_greeted] = co_await stream.async_handshake(asio::ssl::stream_base::client, quietly);
  if (not_greeted) co_return failed(Failure::unreachable);
  Try<std::string> answer = co_await talk(&stream, std::move(message));
  co_return answer;
}

}  // namespace

Attempted<std::string> fetch(FetchOrder order, Clock* clock, Executor executor) {
  const std::optional<Place> place = place_of(order.url);
  if (!place) co_return failed(Failure::malformed);
  asio::ip::basic_resolver<tcp, Executor> resolver(executor);
  Socket socket(executor);
  bool late = false;
  const std::unique_ptr<Clock::Alarm> alarm = clock->after(executor, time_max, [&] {
    late = true;
    boost::system::error_code ignored;
    resolver.cancel();
    socket.close(ignored);
  });
  const auto [not_found, addresses] = co_await resolver.async_resolve(place->host, place->port, quietly);
  if (not_found || late) co_return failed(Failure::unreachable);
  const auto [refused, address] = co_await asio::async_connect(socket, addresses, quietly);
  if (refused || late) co_return failed(Failure::unreachable);
  Message message = message_for(*place, std::move(order.body), order.authorization);
  if (place->secure) {
    Try<std::string> answer = co_await talk_securely(&socket, &*place, std::move(message));
    co_return answer;
  }
  Try<std::string> answer = co_await talk(&socket, std::move(message));
  co_return answer;
}

}  // namespace semel::http
