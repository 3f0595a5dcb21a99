// What the demo tells people: which lines to paste, and what to expect of each. Pure; fits 80 columns.
#pragma once

#include <cstdint>
#include <string>

namespace semel::cli {

struct DemoPlace {
  std::string program;  // how to start semel from here
  std::uint16_t port = 0;
  std::uint16_t admin_port = 0;
  std::uint16_t api_port = 0;
};

std::string demo_text(const DemoPlace& place);
std::string demo_text_without(const DemoPlace& place);

// How it went.
std::string demo_farewell(std::uint64_t requests, std::uint64_t payments);

}  // namespace semel::cli
