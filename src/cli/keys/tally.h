// `semel keys tally` and `semel keys doctor`: what clients did over time, and what is odd about it.
#pragma once

#include <cstdint>
#include <string>

#include <boost/json/object.hpp>

#include "cli/keys/admin_options.h"

namespace semel::cli {

struct TallyArguments {
  std::string by = "route";
  std::string step;  // empty: by the number of days
  std::uint32_t days = 7;
  std::string route;
};

int tally(const AdminOptions& server, const TallyArguments& given);
int doctor(const AdminOptions& server, const TallyArguments& given);

// What they print for people.
std::string tally_text(const boost::json::object& answer);
std::string doctor_text(const boost::json::object& answer);

}  // namespace semel::cli
