#include "cli/keys/keys_call.h"

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>
#include <fmt/format.h>

#include "cli/keys/admin_call.h"
#include <semel/result.h>

namespace semel::cli {
namespace {

int code_for(std::uint16_t status) {
  if (status == 401 || status == 403) return 3;
  if (status == 400) return 2;
  return status == 404 || status == 409 ? 1 : 4;
}

}  // namespace

int complain(std::string_view what, int code) {
  fmt::print(stderr, "semel keys: {}\n", what);
  return code;
}

Heard ask_admin(const KeysServer& server, const std::string& method, const std::string& target,
                const std::string& body) {
  const Result<AdminServer> at = admin_server(server.admin, server.token, server.config);
  if (!at) return {.code = complain(at.error().detail, 2), .body = {}};
  const Result<AdminAnswer> answer = call_admin(*at, method, target, body);
  if (!answer) return {.code = complain(answer.error().detail, 4), .body = {}};
  boost::system::error_code error;
  boost::json::value value = boost::json::parse(answer->body, error);
  if (error || !value.is_object()) {
    return {.code = complain(fmt::format("status {} without JSON", answer->status), 4), .body = {}};
  }
  Heard heard{.code = 0, .body = std::move(value.get_object())};
  if (answer->status == 200) return heard;
  heard.code = code_for(answer->status);
  if (server.json) fmt::print("{}\n", answer->body);
  const boost::json::value* const detail = heard.body.if_contains("detail");
  complain(detail != nullptr && detail->is_string() ? std::string_view(detail->get_string()) : "refused", heard.code);
  return heard;
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

}  // namespace semel::cli
