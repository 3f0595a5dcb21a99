// What a browser needs before it shows an answer to a page of another origin (the Fetch standard's CORS protocol).
//
// The service behind us says so for its own answers. These are the fields for ours: a refusal without them is a
// "network error" to the page, which then cannot tell 409 from a lost connection. An origin that is not listed is never
// repeated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/request_view.h"
#include "reading/fault.h"
#include <semel/clock.h>
#include <semel/response.h>

namespace semel::policy {

enum class Preflights : std::uint8_t { pass, answer };

struct Cors {
  std::vector<std::string> origins;  // as browsers write them: https://app.example.com; or "*" alone
  bool credentials = false;
  Preflights preflights = Preflights::pass;  // to the service, or answered here
  Millis max_age{600'000};                   // of an answered preflight
};

reading::Parsed<void> check_origin(std::string_view text);

// Adds to an answer that was made here what a browser needs.
void add_cors(const Cors& cors, const RequestView& request, std::string_view replayed_header, Response& reply);

// For an answer of the service, now or again: it says itself who may read it, and this adds that our marks may be read,
// too. Null if there is nothing to say.
std::optional<Field> exposed_marks(const Cors& cors, const RequestView& request, std::string_view replayed_header);

// The answer to a preflight; null if the request is none, or is the service's to answer.
std::optional<Response> answer_preflight(const Cors& cors, const RequestView& request);

}  // namespace semel::policy
