// Answers in JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/json/writer.h"
#include <semel/response.h>

namespace semel::admin {

inline Response json_answer(std::uint16_t status, std::string body) {
  return {.status = status, .fields = {{.name = "Content-Type", .value = "application/json"}}, .body = std::move(body)};
}

// {"error":"…"}
inline Response error_answer(std::uint16_t status, std::string_view error) {
  std::string body;
  core::json::JsonWriter(body).begin_object().text("error", error).end_object();
  return json_answer(status, std::move(body));
}

}  // namespace semel::admin
