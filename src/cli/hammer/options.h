// What `semel hammer` was asked to do, checked: every number has a limit, and the target is the user's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/tls.h"
#include "reading/address.h"
#include <semel/clock.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::cli {

// As given on the command line, with the defaults that its help shows.
struct HammerArguments {
  std::string url;
  std::string effects;
  std::string method = "POST";
  std::string body = R"({"amount":1,"order":{n}})";
  std::vector<std::string> headers;
  std::string key_header = "Idempotency-Key";
  std::string replay_header = "Idempotent-Replayed";
  std::uint32_t keys = 100;
  std::uint32_t duplicates = 25;
  std::uint32_t connections = 0;
  std::uint32_t wrong_percent = 0;
  std::uint32_t cut_percent = 0;
  std::uint32_t rate = 0;
  std::uint32_t seconds = 0;
  std::uint32_t patience_seconds = 30;
  std::uint32_t time_limit_seconds = 600;
  std::string ca;
  bool insecure = false;
  bool own_target = false;
  bool json = false;
};

struct HammerTarget {
  reading::Endpoint authority;
  std::string host;    // for the Host field
  std::string target;  // path and query
  bool secure = false;
};

struct HammerOptions {
  std::string url;
  HammerTarget target;
  std::optional<HammerTarget> effects;
  std::string method;
  std::string body;
  std::vector<Field> fields;
  std::string key_header;
  std::string replay_header;
  std::uint32_t keys = 0;
  std::uint32_t calls = 0;  // of each key
  std::uint32_t connections = 0;
  std::uint32_t wrong_percent = 0;
  std::uint32_t cut_percent = 0;
  std::uint32_t rate = 0;  // a second; 0 for as fast as the connections allow
  Millis patience{0};
  Millis time_limit{0};
  std::shared_ptr<const http::TlsContext> tls;  // for https:// only
};

// Code::invalid: the message says what to write instead.
Result<HammerOptions> check_arguments(const HammerArguments& arguments);

// The body of a key: {n} is its number, {key} the key itself.
std::string body_for(std::string_view text, std::uint64_t number, std::string_view key);
// A body that is certainly another request than `body`, and still JSON if that is.
std::string another_body(std::string_view body);

}  // namespace semel::cli
