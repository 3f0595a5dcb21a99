// What the commands of `semel keys` have in common: a request to the gateway, and how to exit.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "cli/keys/admin_options.h"

namespace semel::cli {

// A request, and its answer as JSON. What is no success is printed, and `code` says how to exit.
struct Heard {
  int code = 0;
  boost::json::object body;
};
Heard ask_admin(const AdminOptions& server, const std::string& method, const std::string& target,
                const std::string& body);

}  // namespace semel::cli
