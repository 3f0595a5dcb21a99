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

inline std::string_view title_of(std::uint16_t status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 421:
      return "Misdirected Request";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "Error";
  }
}

// A problem (RFC 9457).
inline Response error_answer(std::uint16_t status, std::string_view detail) {
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object().text("type", "about:blank").text("title", title_of(status)).number("status", status);
  json.bytes("detail", detail).end_object();
  body += '\n';  // for those who look at it in a terminal
  Response answer = json_answer(status, std::move(body));
  answer.fields.front().value = "application/problem+json";
  return answer;
}

}  // namespace semel::admin
