// What the commands of `semel keys` have in common: where the gateway is, a request to it, and how to exit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

namespace semel::cli {

struct KeysServer {
  std::string admin = "http://127.0.0.1:9080";
  std::string token;
  std::string config;
  bool json = false;
};

// Prints it, and returns `code`.
int complain(std::string_view what, int code);

// A request, and its answer as JSON. What is no success is printed, and `code` says how to exit.
struct Heard {
  int code = 0;
  boost::json::object body;
};
Heard ask_admin(const KeysServer& server, const std::string& method, const std::string& target,
                const std::string& body);

// As a part of a target.
std::string encoded(std::string_view text);

}  // namespace semel::cli
