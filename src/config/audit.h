// [[audit]]: a query over the tables of a business, whose rows are compared with the keys (docs/audit.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/file_place.h"
#include "reading/secret.h"
#include <semel/clock.h>

namespace semel::config {

// How many effects a key that is done has.
enum class AuditExpect : std::uint8_t { one, at_most_one };

struct AuditConfig {
  std::string name;
  reading::Secret database;
  std::string query;  // without a semicolon at its end
  std::string space = "default";
  Millis every{60'000};
  Millis settle{120'000};
  Millis overlap{3'600'000};
  AuditExpect expect = AuditExpect::one;
  std::string page_to;  // a destination; empty: nobody is paged
  Millis statement_timeout{30'000};
  std::uint32_t rows_max = 1'000'000;  // that are held in memory at once
  FilePlace query_at;
  std::vector<Millis> ttls;  // of the routes and webhooks of the namespace, each once

  friend bool operator==(const AuditConfig&, const AuditConfig&) = default;
};

}  // namespace semel::config
