// One request to the operators' listener of a gateway.
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace semel::cli
