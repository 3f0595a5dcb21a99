// Fields and nothing else: who may read what.
#include "policy/cors.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/ascii.h"
#include "policy/fields.h"
#include "policy/request_view.h"
#include "reading/address.h"
#include "reading/fault.h"
#include <semel/response.h>

namespace semel::policy {
namespace {

constexpr std::string_view any_origin = "*";

// What Access-Control-Allow-Origin says to this request. Null if its origin is not listed.
std::optional<std::string> allowed(const Cors& cors, const RequestView& request) {
  const std::vector<std::string_view> lines = lines_of(request.fields, "Origin");
  if (lines.size() != 1) return std::nullopt;
  if (cors.origins.size() == 1 && cors.origins.front() == any_origin) return std::string(any_origin);
  const auto found = std::ranges::find(cors.origins, core::trimmed(lines.front()));
  return found == cors.origins.end() ? std::nullopt : std::optional(*found);
}

void add(Response& reply, std::string_view name, std::string value) {
  reply.fields.push_back({.name = std::string(name), .value = std::move(value)});
}

void grant(const Cors& cors, std::string origin, Response& reply) {
  add(reply, "Access-Control-Allow-Origin", std::move(origin));
  if (cors.credentials) add(reply, "Access-Control-Allow-Credentials", "true");
}

// `X-One, x-two`: names and nothing else.
bool is_list_of_names(std::string_view list) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (!is_field_name(core::trimmed(list.substr(0, end)))) return false;
    list.remove_prefix(std::min(list.size(), end + 1));
  }
  return true;
}

}  // namespace

reading::Parsed<void> check_origin(std::string_view text) {
  if (text == any_origin) return {};
  if (text.find('*') != std::string_view::npos) {
    return reading::fault("is not an origin: each is written out; \"*\" alone is all of them");
  }
  const auto url = reading::parse_url(text);
  if (!url) return reading::fault("is not an origin, such as https://app.example.com");
  const std::size_t host = text.find("//") + 2;
  const std::string_view bare = text.substr(0, text.find('/', host));
  if (bare.size() != text.size())
    return reading::fault("is more than an origin: a path is not part of one", std::string(bare));
  if (core::to_lower(text) != text)
    return reading::fault("browsers write an origin in small letters", core::to_lower(text));
  const bool usual = text.ends_with(url->secure ? ":443" : ":80");
  if (usual) return reading::fault("browsers leave the usual port out", std::string(text.substr(0, text.rfind(':'))));
  return {};
}

std::optional<Field> exposed_marks(const Cors& cors, const RequestView& request, std::string_view replayed_header) {
  if (!allowed(cors, request)) return std::nullopt;
  return Field{.name = "Access-Control-Expose-Headers",
               .value = fmt::format("{}, {}, Retry-After", replayed_header, expires_field)};
}

void add_cors(const Cors& cors, const RequestView& request, std::string_view replayed_header, Response& reply) {
  add(reply, "Vary", "Origin");
  auto origin = allowed(cors, request);
  auto marks = exposed_marks(cors, request, replayed_header);
  if (!origin || !marks) return;
  grant(cors, *std::move(origin), reply);
  reply.fields.push_back(*std::move(marks));
}

std::optional<Response> answer_preflight(const Cors& cors, const RequestView& request) {
  const std::vector<std::string_view> methods = lines_of(request.fields, "Access-Control-Request-Method");
  const bool asks = request.method == "OPTIONS" && !lines_of(request.fields, "Origin").empty() && methods.size() == 1;
  if (cors.preflights == Preflights::pass || !asks) return std::nullopt;
  Response reply{.status = 204, .fields = {}, .body = {}};
  add(reply, "Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers");
  auto origin = allowed(cors, request);
  if (!origin || !is_field_name(core::trimmed(methods.front()))) return reply;
  grant(cors, *std::move(origin), reply);
  add(reply, "Access-Control-Allow-Methods", std::string(core::trimmed(methods.front())));
  const std::vector<std::string_view> names = lines_of(request.fields, "Access-Control-Request-Headers");
  if (names.size() == 1 && is_list_of_names(names.front())) {
    add(reply, "Access-Control-Allow-Headers", std::string(core::trimmed(names.front())));
  }
  const auto seconds = std::chrono::floor<std::chrono::seconds>(cors.max_age).count();
  add(reply, "Access-Control-Max-Age", std::to_string(seconds));
  return reply;
}

}  // namespace semel::policy
