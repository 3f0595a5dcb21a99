// One request to the operators' listener of a gateway.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "http/upstream.h"
#include "reading/address.h"
#include <semel/result.h>

namespace semel::cli {

struct AdminServer {
  reading::Url url;
  std::string token;
};

// From --admin and --token, or from the [admin] of a configuration. Code::invalid says what is missing.
Result<AdminServer> admin_server(const std::string& url, const std::string& token, const std::string& config);

struct AdminAnswer {
  std::uint16_t status = 0;
  std::string body;
};

// Code::unavailable: there was no answer.
Result<AdminAnswer> call_admin(const AdminServer& server, const std::string& method, const std::string& target,
                               const std::string& body);

// Where the listener is.
http::UpstreamOptions admin_upstream(const AdminServer& server);

// The head of a request to it, with the token and with who asks.
std::string admin_request_head(const AdminServer& server, const std::string& method, const std::string& target,
                               std::size_t body_bytes);

// For a path or a query.
std::string encoded(std::string_view text);

// Prints why a command failed, and returns the exit code.
int complain(std::string_view what, int code);
// The same for an answer that is no success.
int complain_of(std::uint16_t status, const std::string& body);

}  // namespace semel::cli
