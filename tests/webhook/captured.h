// Deliveries that a stranger may have captured: for every provider's file, every scheme in it and every way in which
// its events may be named. They are made from the files themselves, so a new file is tested as soon as it is there.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/rules.h"
#include "webhook/provider.h"
#include <semel/clock.h>

namespace semel::test {

struct Captured {
  std::string title;
  webhook::Provider provider;
  std::string secret;
  Sent request;
  Time now;
  std::map<std::string, std::string> documents{};  // that are fetched
  std::map<std::string, std::string> values{};     // of the JSON pointers in the body, where it was made from them
};

// Deliveries of two seeds are of different events, signed with the same secrets.
std::vector<Captured> captured_deliveries(unsigned seed);

// The body with these values at these JSON pointers.
std::string json_body(const std::map<std::string, std::string>& values, const webhook::Provider& provider);

}  // namespace semel::test
