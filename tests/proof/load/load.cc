// The load of the proof: proof_load BOOK CLIENTS SEED ROUTE,... DELAY_MS,... HOST:PORT...
//
// Does what it is told, a line of standard input at a time, and answers each with "done": start, pause SECONDS, go,
// stop, settle SECONDS HOST:PORT, operations FILE. It ends with its input. Every call is in BOOK when an answer comes.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "load/book.h"
#include "load/crowd.h"
#include "load/line.h"

namespace {

using semel::core::check;
using semel::proof::Crowd;

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream text(list);
  for (std::string part; std::getline(text, part, ',');) parts.push_back(part);
  check(!parts.empty(), "a list names something");
  return parts;
}

void write_operations(Crowd& crowd, const std::string& path) {
  std::ofstream out(path);
  for (const auto& operation : crowd.operations()) out << operation.json() << '\n';
  out.close();
  check(out.good(), "the operations can be written");
}

void obey(Crowd& crowd, const std::string& line) {
  std::istringstream words(line);
  std::string what;
  std::string where;
  double seconds = 0;
  words >> what;
  if (what == "start") {
    crowd.start();
  } else if (what == "pause" && words >> seconds) {
    crowd.pause(seconds);
  } else if (what == "go") {
    crowd.go_on();
  } else if (what == "stop") {
    crowd.stop();
  } else if (what == "settle" && words >> seconds >> where) {
    crowd.settle(semel::proof::endpoint_of(where), seconds);
  } else {
    check(what == "operations" && words >> where, "a command is known");
    write_operations(crowd, where);
  }
}

}  // namespace

int main(int count, char** words) {
  constexpr int first_address = 6;
  check(count > first_address, "proof_load BOOK CLIENTS SEED ROUTES DELAYS ADDRESS...");
  semel::proof::CrowdOptions options{.gateways = {},
                                     .routes = parts_of(words[4]),
                                     .delays_ms = {},
                                     .clients = std::strtoull(words[2], nullptr, 10),
                                     .seed = std::strtoull(words[3], nullptr, 10)};
  for (const std::string& delay : parts_of(words[5]))
    options.delays_ms.push_back(static_cast<unsigned>(std::strtoul(delay.c_str(), nullptr, 10)));
  for (int at = first_address; at < count; ++at) options.gateways.push_back(semel::proof::endpoint_of(words[at]));
  semel::proof::Book book(words[1]);
  Crowd crowd(std::move(options), book);
  for (std::string line; std::getline(std::cin, line);) {
    obey(crowd, line);
    book.flush();
    std::cout << "done\n" << std::flush;
  }
  return 0;
}
