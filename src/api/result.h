// The result of a claim: as JSON in a request or an answer, and as the Response that the gateway keeps and replays.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "api/trouble.h"
#include "core/json/view.h"
#include "core/json/writer.h"
#include <semel/response.h>

namespace semel::api {

struct ResultRules {
  std::uint64_t store_body_max = 0;
  std::uint64_t head_bytes_max = 0;  // of all fields together
  std::string replayed_header;       // ours, so not to be kept
};

// `value` is the member `result`, which stands at `pointer`. Fields that end at a hop or speak to one caller only are
// left out, as the gateway does.
std::expected<SharedResponse, Trouble> read_result(core::json::JsonView value, const std::string& pointer,
                                                   const ResultRules& rules);

// An end without a result: an empty answer with status 204.
SharedResponse empty_result();

// As the value of the member `result`. JSON is written both as JSON and as the very bytes.
void write_result(core::json::JsonWriter& json, const Response& response);

}  // namespace semel::api
