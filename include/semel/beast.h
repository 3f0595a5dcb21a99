// For Boost.Beast servers: puts a Guard around a handler. Header-only: link semel::guard; Beast comes with Boost.
//
//   semel::BeastRequest request = …;   // read it whole
//   semel::BeastResponse reply = co_await semel::guarded(guard, once, request, peer, handler);   // write it
//
// In a coroutine that is no Task but an awaitable with another executor, guarded() takes the io_context first.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <semel/async.h>
#include <semel/guard.h>
#include <semel/http_request.h>
#include <semel/once.h>
#include <semel/response.h>

namespace semel {

using BeastRequest = boost::beast::http::request<boost::beast::http::string_body>;
using BeastResponse = boost::beast::http::response<boost::beast::http::string_body>;

// Like Handler in guard.h. The request is the one that was given to guarded().
using BeastHandler = std::move_only_function<Task<BeastResponse>(const BeastRequest&, Fence)>;

namespace beast_adapter {

inline std::string_view view_of(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

inline std::vector<FieldView> fields_of(const boost::beast::http::fields& fields) {
  std::vector<FieldView> views;
  for (const auto& field : fields) views.push_back({view_of(field.name_string()), view_of(field.value())});
  return views;
}

inline HttpRequest view_of(const BeastRequest& request, std::span<const FieldView> fields, std::string_view ip) {
  return {view_of(request.method_string()), view_of(request.target()), fields, request.body(), ip};
}

inline Response response_of(BeastResponse said) {
  Response response{.status = static_cast<std::uint16_t>(said.result_int()), .fields = {}, .body = {}};
  for (const FieldView& from : fields_of(said))
    response.fields.push_back({std::string(from.name), std::string(from.value)});
  response.body = std::move(said.body());
  return response;
}

inline Task<Response> handle(const BeastRequest* request, BeastHandler* handler, Fence fence) {
  BeastResponse said = co_await (*handler)(*request, fence);
  co_return response_of(std::move(said));
}

inline BeastResponse reply_of(Response response, const BeastRequest& request) {
  BeastResponse reply(boost::beast::http::status::ok, request.version());
  reply.result(response.status);
  for (const Field& field : response.fields) reply.insert(field.name, field.value);
  reply.keep_alive(request.keep_alive());
  if (request.method_string() == "HEAD" || response.status == 204 || response.status == 304) return reply;
  reply.body() = std::move(response.body);
  reply.prepare_payload();
  return reply;
}

inline Task<BeastResponse> run(Guard guard, Once* once, const BeastRequest* request, std::string ip,
                               BeastHandler handler, Probe probe) {
  const std::vector<FieldView> fields = fields_of(*request);
  const HttpRequest asked = view_of(*request, fields, ip);
  Handler handle_it = [request, &handler](Fence fence) { return handle(request, &handler, fence); };
  Response response = co_await guard.run(*once, asked, std::move(handle_it), std::move(probe));
  co_return reply_of(std::move(response), *request);
}

}  // namespace beast_adapter

// Returns the reply to `request`, framed and ready to be written. `ip` is the peer's address as text, for keys and
// scopes that use {ip}. `request`, `once` and the clock of a webhook's verifier must outlive the call; the guard is
// copied.
inline Task<BeastResponse> guarded(const Guard& guard, Once& once, const BeastRequest& request, std::string ip,
                                   BeastHandler handler, Probe probe = {}) {
  return beast_adapter::run(guard, &once, &request, std::move(ip), std::move(handler), std::move(probe));
}

// The same in a coroutine with another executor, such as a plain boost::asio::awaitable<T>; `Other` is that executor.
// The guard and the handler run on `context`, whose one thread is the rule of semel/async.h. The coroutine waits
// meanwhile and goes on where it was: if it runs on the same context, nothing changes threads.
template <class Other = boost::asio::any_io_executor>
boost::asio::awaitable<BeastResponse, Other> guarded(boost::asio::io_context& context, const Guard& guard, Once& once,
                                                     const BeastRequest& request, std::string ip, BeastHandler handler,
                                                     Probe probe = {}) {
  Task<BeastResponse> task =
      beast_adapter::run(guard, &once, &request, std::move(ip), std::move(handler), std::move(probe));
  return boost::asio::co_spawn(context, std::move(task), boost::asio::use_awaitable_t<Other>());
}

// The same for servers that block. `once` is a lambda that calls BlockingOnce::run() or once_in_transaction(). The
// handler runs on this thread.
using BlockingBeastHandler = std::move_only_function<BeastResponse(const BeastRequest&, Fence)>;
inline BeastResponse guarded(const Guard& guard, BlockingRunner once, const BeastRequest& request, std::string_view ip,
                             BlockingBeastHandler handler) {
  const std::vector<FieldView> fields = beast_adapter::fields_of(request);
  const auto handle = [&](Fence fence) { return beast_adapter::response_of(handler(request, fence)); };
  Response response = guard.run(std::move(once), beast_adapter::view_of(request, fields, ip), handle);
  return beast_adapter::reply_of(std::move(response), request);
}

}  // namespace semel
