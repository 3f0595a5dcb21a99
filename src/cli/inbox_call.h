// What the commands of `semel inbox` have in common: their options, a request to the gateway, and how to exit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include <boost/json/object.hpp>

#include <semel/clock.h>

namespace semel::cli {

struct InboxArguments {
  std::string admin = "http://127.0.0.1:9080";
  std::string token;
  std::string config;
  bool json = false;

  std::string id;  // of an event, or the name of a destination
  std::string state;
  std::string source;
  std::string destination;
  std::string type;
  std::string from;
  std::string to;
  std::string reason;
  std::string span;
  bool body = false;
};

// Prints why a command failed, and returns the exit code.
int complain_of_inbox(std::string_view what, int code);
int inbox_code_for(std::uint16_t status);

// A request, and its answer as JSON. What is no success is printed, and `code` says how to exit.
struct InboxHeard {
  int code = 0;
  boost::json::object body;
};
InboxHeard ask_inbox(const InboxArguments& given, const std::string& method, const std::string& target,
                     const std::string& body);

// `&state=dead&dest=…`: the filter that was given.
std::string inbox_query(const InboxArguments& given);

// A text as it came: to be compared or sent on, not to be printed.
std::string_view text_of(const boost::json::object& object, std::string_view member);
// A text that others may have chosen, as it can be printed.
std::string shown_of(const boost::json::object& object, std::string_view member);
std::int64_t number_of(const boost::json::object& object, std::string_view member);
void print_delivery(const boost::json::object& item);

void nap(Clock& clock, Millis time);

CLI::App* add_inbox_part(CLI::App& parent, InboxArguments& given, const std::string& name, const std::string& about);
void add_inbox_filter(CLI::App& part, InboxArguments& given);

}  // namespace semel::cli
