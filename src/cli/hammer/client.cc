// The requests of a hammer run, on src/http's client side.
#include "cli/hammer/client.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "cli/hammer/options.h"
#include "cli/hammer/verdict.h"
#include "core/ascii.h"
#include "core/sha256.h"
#include "http/call.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/ticker.h"
#include "http/tls.h"
#include "http/upstream.h"
#include "http/writer.h"
#include "reading/address.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/response.h>

namespace semel::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t body_bytes_max = 16U << 20U;
constexpr std::size_t problem_bytes_max = 64U << 10U;
constexpr std::uint16_t conflict = 409;
constexpr Millis connect_time{5'000};
constexpr Millis effects_time{10'000};

http::UpstreamOptions upstream_of(const HammerTarget& target, std::size_t connections,
                                  const std::shared_ptr<const http::TlsContext>& tls) {
  return {.addresses = {{.host = target.authority.host, .port = target.authority.port, .secure = target.secure}},
          .connect_time = connect_time,
          .idle_max = connections,
          .tls = tls};
}

bool names(const std::vector<Field>& fields, std::string_view name) {
  return std::ranges::any_of(fields, [&](const Field& field) { return core::equal_ignoring_case(field.name, name); });
}

// A member of `body`, a JSON object.
std::optional<json::value> member(std::string_view body, std::string_view name) {
  json::error_code error;
  const json::value document = json::parse(body, error);
  if (error || !document.is_object()) return std::nullopt;
  const json::value* const found = document.as_object().if_contains(name);
  return found == nullptr ? std::nullopt : std::optional<json::value>(*found);
}

// Whether a problem (RFC 9457) in Semel's form says that the same key will never get another answer.
bool says_never(std::string_view body) {
  if (body.size() > problem_bytes_max) return false;
  const auto retry = member(body, "retry");
  return retry && retry->is_string() && retry->as_string() == "never";
}

std::optional<Millis> retry_after_of(const http::Head& head) {
  const auto text = head.find("Retry-After");
  if (!text) return std::nullopt;
  std::uint32_t seconds = 0;
  const auto read = std::from_chars(text->data(), text->data() + text->size(), seconds);
  if (read.ec != std::errc() || read.ptr != text->data() + text->size()) return std::nullopt;
  return Millis{1'000} * seconds;
}

}  // namespace

HammerClient::HammerClient(const HammerOptions& options, std::string run, Clock& clock, Executor executor,
                           http::Ticker& ticker)
    : options_(options),
      run_(std::move(run)),
      has_host_(names(options.fields, "Host")),
      has_type_(names(options.fields, "Content-Type")),
      upstream_(upstream_of(options.target, options.connections, options.tls), clock, executor, ticker) {
  if (options.effects)
    effects_.emplace(upstream_of(*options.effects, 1, options.tls), clock, std::move(executor), ticker);
}

std::string HammerClient::key_text(std::uint64_t key) const {
  return "hammer-" + run_ + "-" + std::to_string(key);
}

std::string HammerClient::head_for(const std::string& key, const std::string& body) const {
  std::string head;
  http::HeadWriter out = http::HeadWriter::request(head, options_.method, options_.target.target);
  if (!has_host_) out.field("Host", options_.target.host);
  for (const Field& field : options_.fields) out.field(field.name, field.value);
  if (!has_type_) out.field("Content-Type", "application/json");
  out.field(options_.key_header, key);
  out.length(body.size());
  out.end();
  return head;
}

Task<Landed> HammerClient::send(std::uint64_t key, Letter letter, Cut cut) {
  const std::string text = key_text(key);
  std::string body = body_for(options_.body, key, text);
  if (letter == Letter::other) body = another_body(body);
  const std::string head = head_for(text, body);
  Landed landed;

  http::Call call(upstream_, options_.patience);
  http::CallEnd end = co_await call.send(head, body);
  if (end != http::CallEnd::answered) co_return landed;
  // A call that is not finished takes its connection with it.
  landed.flight = Flight::cut;
  if (cut == Cut::after_sending) co_return landed;
  end = co_await call.read_head();
  if (cut == Cut::while_reading) co_return landed;
  landed.flight = Flight::lost;
  if (end != http::CallEnd::answered) co_return landed;
  const http::Try<std::string> answer = co_await call.read_body_up_to(body_bytes_max);
  if (!answer) co_return landed;

  landed.flight = Flight::answered;
  landed.seen.status = call.head().status();
  landed.seen.replayed = call.head().find(options_.replay_header).has_value();
  landed.seen.retry_never = landed.seen.status == conflict && says_never(*answer);
  landed.seen.body = core::sha256(*answer);
  landed.retry_after = retry_after_of(call.head());
  call.finish();
  co_return landed;
}

Task<std::string> HammerClient::trouble() {
  const auto link = co_await upstream_.link(http::Upstream::Use::fresh);
  if (link.has_value()) co_return std::string();
  const std::string where = reading::endpoint_text(options_.target.authority);
  if (upstream_.trouble().empty()) co_return "nothing listens on " + where;
  co_return where + ": " + upstream_.trouble();
}

Task<std::optional<std::uint64_t>> HammerClient::count_effects() {
  if (!options_.effects || !effects_) co_return std::nullopt;
  std::string head;
  http::HeadWriter out = http::HeadWriter::request(head, "GET", options_.effects->target);
  out.field("Host", options_.effects->host).end();
  http::Call call(*effects_, effects_time);
  http::CallEnd end = co_await call.send(head, std::string_view());
  if (end == http::CallEnd::answered) end = co_await call.read_head();
  if (end != http::CallEnd::answered || call.head().status() != 200) co_return std::nullopt;
  const http::Try<std::string> answer = co_await call.read_body_up_to(body_bytes_max);
  if (!answer) co_return std::nullopt;
  const auto effects = member(*answer, "effects");
  if (!effects || !effects->is_number()) co_return std::nullopt;
  json::error_code not_whole;
  const auto number = effects->to_number<std::uint64_t>(not_whole);
  if (not_whole) co_return std::nullopt;
  co_return number;
}

}  // namespace semel::cli
