#include "cli/keys/keys_call.h"

#include <string>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>
#include <fmt/format.h>

#include "cli/keys/admin_call.h"
#include "cli/keys/admin_options.h"
#include <semel/result.h>

namespace semel::cli {

Heard ask_admin(const AdminOptions& server, const std::string& method, const std::string& target,
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
  if (server.json) fmt::print("{}\n", answer->body);
  heard.code = complain_of(answer->status, answer->body);
  return heard;
}

}  // namespace semel::cli
