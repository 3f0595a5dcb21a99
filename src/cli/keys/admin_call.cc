// The requests of a command: where they go, what is in them, and what is printed if they fail.
#include "cli/keys/admin_call.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>
#include <fmt/format.h>

#include "cli/load.h"
#include "config/config.h"
#include "core/printable.h"
#include "http/call.h"
#include "http/failure.h"
#include "http/ticker.h"
#include "http/upstream.h"
#include "http/writer.h"
#include "reading/address.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::cli {
namespace {

constexpr Millis patience{30'000};
constexpr std::size_t body_bytes_max = 64U << 20U;

Task<void> ask(http::Upstream* upstream, const std::string* head, const std::string* body, Result<AdminAnswer>* answer,
               boost::asio::io_context* context) {
  http::Call call(*upstream, patience);
  http::CallEnd end = co_await call.send(*head, *body);
  if (end == http::CallEnd::answered) end = co_await call.read_head();
  if (end == http::CallEnd::answered) {
    http::Try<std::string> read = co_await call.read_body_up_to(body_bytes_max);
    if (read) *answer = AdminAnswer{.status = call.head().status(), .body = *std::move(read)};
    call.finish();
  }
  context->stop();
}

}  // namespace

Result<AdminServer> admin_server(const std::string& url, const std::string& token, const std::string& config) {
  AdminServer server;
  server.token = token;
  // Read here, and not as an option's default: a subcommand that was not called must not set what another was given.
  const char* const usual = std::getenv("SEMEL_ADMIN_TOKEN");
  if (server.token.empty() && usual != nullptr) server.token = usual;
  if (!config.empty()) {
    const std::shared_ptr<const config::Config> loaded = load_config(config);
    if (loaded == nullptr) return fail(Code::invalid, "the configuration cannot be used");
    const auto& listen = loaded->admin.listen;
    if (!listen) return fail(Code::invalid, "the configuration has no admin listener");
    server.url.authority = *listen;
    if (server.token.empty()) server.token = loaded->admin.token.reveal();
    if (server.token.empty()) server.token = loaded->admin.admin.reveal();
    if (server.token.empty()) server.token = loaded->admin.operates.reveal();
    if (server.token.empty()) server.token = loaded->admin.viewer.reveal();
    return server;
  }
  const auto parsed = reading::parse_url(url);
  if (!parsed) return fail(Code::invalid, "--admin: " + parsed.error().message);
  if (parsed->secure) return fail(Code::invalid, "--admin: the admin listener speaks http://");
  server.url = *parsed;
  return server;
}

Result<AdminAnswer> call_admin(const AdminServer& server, const std::string& method, const std::string& target,
                               const std::string& body) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  boost::asio::io_context context{1};
  http::Ticker ticker(*clock, context.get_executor());
  http::Upstream upstream(admin_upstream(server), *clock, context.get_executor(), ticker);
  const std::string head = admin_request_head(server, method, target, body.size());
  Result<AdminAnswer> answer = fail(Code::unavailable, "no answer from " + reading::url_text(server.url));
  ticker.start();
  boost::asio::co_spawn(context, ask(&upstream, &head, &body, &answer, &context), boost::asio::detached);
  context.run();
  return answer;
}

http::UpstreamOptions admin_upstream(const AdminServer& server) {
  return {.addresses = {{.host = server.url.authority.host, .port = server.url.authority.port}},
          .connect_time = Millis{5'000},
          .idle_max = 1};
}

std::string admin_request_head(const AdminServer& server, const std::string& method, const std::string& target,
                               std::size_t body_bytes) {
  std::string head;
  http::HeadWriter out = http::HeadWriter::request(head, method, target);
  out.field("Host", reading::host_field(server.url));
  if (!server.token.empty()) out.field("Authorization", "Bearer " + server.token);
  if (const char* const user = std::getenv("USER"); user != nullptr) out.field("X-Semel-User", user);
  if (method != "GET") out.field("Content-Type", "application/json");
  if (method != "GET") out.length(body_bytes);
  out.end();
  return head;
}

std::string encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    if (plain) out += c;
    if (!plain) out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

int complain(std::string_view what, int code) {
  fmt::print(stderr, "semel keys: {}\n", core::printable(what));
  return code;
}

int complain_of(std::uint16_t status, const std::string& body) {
  int code = status == 404 || status == 409 ? 1 : 4;
  if (status == 401)
    return complain("the token is missing or not known; give --token, SEMEL_ADMIN_TOKEN or --config FILE", 3);
  if (status == 403) code = 3;
  if (status == 400) code = 2;
  boost::system::error_code error;
  const boost::json::value problem = boost::json::parse(body, error);
  const boost::json::value* const detail =
      error || !problem.is_object() ? nullptr : problem.get_object().if_contains("detail");
  return complain(detail != nullptr && detail->is_string() ? std::string_view(detail->get_string()) : "refused", code);
}

}  // namespace semel::cli
