// server.cors
#include "policy/cors.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "config/sections.h"
#include "reading/document.h"
#include "reading/read_values.h"
#include "reading/table_reader.h"
#include "reading/units.h"
#include <semel/clock.h>

namespace semel::config {
namespace {

constexpr std::array preflight_choices{reading::Choice<policy::Preflights>{"pass", policy::Preflights::pass},
                                       reading::Choice<policy::Preflights>{"answer", policy::Preflights::answer}};

}  // namespace

void read_cors(reading::TableReader& table, std::optional<policy::Cors>& into) {
  if (const reading::Node* const node = table.find("cors")) {
    reading::TableReader cors(table.reading(), node, "server.cors");
    into.emplace();
    cors.require("origins");
    reading::read_list(cors, "origins", into->origins,
                       [](const std::string& text) { return policy::check_origin(text); });
    reading::read_flag(cors, "credentials", into->credentials);
    reading::read_choice(cors, "preflights", into->preflights, preflight_choices);
    reading::read_duration(cors, "max_age", into->max_age, {.min = Millis{0}, .max = reading::one_day});
    const bool any = std::ranges::find(into->origins, "*") != into->origins.end();
    if (cors.has("origins") && cors.good("origins")) {
      if (into->origins.empty()) {
        cors.reject("origins", cors.at("origins"), "origins is empty, so cors would say nothing");
      } else if (any && into->origins.size() > 1) {
        cors.reject("origins", cors.at("origins"), "\"*\" is all origins; it stands alone");
      } else if (any && into->credentials) {
        cors.reject("credentials", cors.at("credentials"),
                    "credentials need origins that are written out: browsers refuse \"*\" with them");
      }
    }
    if (cors.has("max_age") && into->preflights == policy::Preflights::pass && cors.good("preflights")) {
      cors.warn("max_age", "max_age has no effect unless preflights = \"answer\"");
    }
    cors.finish();
  }
  table.record("cors", "{}", into ? "{...}" : "{}");
}

}  // namespace semel::config
