// For cpp-httplib servers: puts a Guard around a handler. Header-only: link semel::guard and cpp-httplib.
//
//   server.Post("/payments", semel::guarded(guard, once, [](const httplib::Request& request, httplib::Response& reply)
//   {
//     reply.status = 201;
//     reply.set_content(charge(request.body), "application/json");
//   }));
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <httplib.h>

#include <semel/blocking_once.h>
#include <semel/guard.h>
#include <semel/http_request.h>
#include <semel/once.h>
#include <semel/response.h>

namespace semel {

namespace httplib_adapter {

// Without the fields that cpp-httplib itself adds to a request: the client did not send them.
inline std::vector<FieldView> fields_of(const httplib::Headers& headers) {
  std::vector<FieldView> views;
  for (const auto& [name, value] : headers) {
    const bool added = name == "REMOTE_ADDR" || name == "REMOTE_PORT" || name == "LOCAL_ADDR" || name == "LOCAL_PORT";
    if (!added) views.push_back({.name = name, .value = value});
  }
  return views;
}

inline Response response_of(httplib::Response& said) {
  Response response{
      .status = static_cast<std::uint16_t>(said.status < 0 ? 200 : said.status), .fields = {}, .body = {}};
  for (const auto& [name, value] : said.headers) response.fields.push_back({.name = name, .value = value});
  response.body = std::move(said.body);
  return response;
}

inline void write(Response from, httplib::Response& to) {
  to.status = from.status;
  to.headers.clear();
  for (Field& field : from.fields) to.headers.emplace(std::move(field.name), std::move(field.value));
  to.body = std::move(from.body);
}

}  // namespace httplib_adapter

// Returns a handler for Server::Post() and similar calls. `handler` fills in the reply as usual, except that it must
// not use a content provider: what that would send cannot be kept. In the handler's copy of the request, the header
// `Idempotency-Attempt` is the number of the attempt. The guard is copied; `once` must outlive the server.
inline httplib::Server::Handler guarded(Guard guard, BlockingOnce& once, httplib::Server::Handler handler) {
  return [guard = std::move(guard), &once, handler = std::move(handler)](const httplib::Request& request,
                                                                         httplib::Response& reply) {
    const std::vector<FieldView> fields = httplib_adapter::fields_of(request.headers);
    const HttpRequest asked{.method = request.method,
                            .target = request.target,
                            .fields = fields,
                            .body = request.body,
                            .ip = request.remote_addr};
    const auto handle = [&](Fence fence) {
      httplib::Request numbered = request;
      numbered.headers.erase("Idempotency-Attempt");
      if (fence.number > 0) numbered.set_header("Idempotency-Attempt", std::to_string(fence.number));
      httplib::Response said;
      handler(numbered, said);
      return httplib_adapter::response_of(said);
    };
    httplib_adapter::write(guard.run(once, asked, handle), reply);
  };
}

}  // namespace semel
