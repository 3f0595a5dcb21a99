// The checks between the command line and a run.
#include "cli/hammer/options.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/ascii.h"
#include "http/tls.h"
#include "http/writer.h"
#include "reading/address.h"
#include "reading/fault.h"
#include <semel/clock.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::cli {
namespace {

constexpr std::uint64_t calls_max = 10'000'000;
constexpr std::uint32_t connections_max = 10'000;
constexpr std::uint32_t connections_by_itself = 512;
constexpr std::uint32_t connections_for_rate = 128;

Result<HammerTarget> read_target(const std::string& text, bool own_target) {
  const std::size_t end = text.find('#');
  const std::size_t query = text.substr(0, end).find('?');
  const auto url = reading::parse_url(text.substr(0, std::min(query, end)));
  if (!url) {
    const reading::Fault& fault = url.error();
    return fail(Code::invalid, fmt::format("\"{}\": {}{}", text, fault.message,
                                           fault.suggestion.empty() ? "" : fmt::format(" ({})", fault.suggestion)));
  }
  if (!reading::is_loopback(url->authority) && !own_target) {
    return fail(Code::invalid,
                fmt::format("{} is another machine. This is a load tool: it fires many requests at once, and doing "
                            "that to somebody else's service does harm. If the target is yours, and you may, add "
                            "--i-own-this-target.",
                            reading::endpoint_text(url->authority)));
  }
  HammerTarget target{.authority = url->authority,
                      .host = reading::host_field(*url),
                      .target = url->path.empty() ? "/" : url->path,
                      .secure = url->secure};
  if (query != std::string::npos) target.target += text.substr(query, end == std::string::npos ? end : end - query);
  return target;
}

Result<Field> read_header(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return fail(Code::invalid, fmt::format("--header \"{}\": write it as \"Name: value\"", text));
  }
  std::string_view value = text.substr(colon + 1);
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  const std::string_view name = text.substr(0, colon);
  for (const std::string_view ours : {"Content-Length", "Transfer-Encoding", "Connection", "Expect"}) {
    if (core::equal_ignoring_case(name, ours))
      return fail(Code::invalid, fmt::format("--header: {} is set automatically", name));
  }
  return Field{.name = std::string(name), .value = std::string(value)};
}

// Whether an HTTP head can be written with these.
bool sound(const HammerOptions& options) {
  std::string out;
  http::HeadWriter head = http::HeadWriter::request(out, options.method, options.target.target);
  for (const Field& field : options.fields) head.field(field.name, field.value);
  head.field(options.key_header, "a").field(options.replay_header, "true");
  const auto plain = [](char c) { return c > ' ' && c < 0x7f; };
  return head.sound() && std::ranges::all_of(options.target.target, plain) && !options.method.empty() &&
         std::ranges::all_of(options.method, [](char c) { return c >= 'A' && c <= 'Z'; });
}

// How many requests of how many keys, over how many connections.
Result<void> read_numbers(const HammerArguments& arguments, HammerOptions& options) {
  if ((arguments.rate == 0) != (arguments.seconds == 0)) {
    return fail(Code::invalid, "--rate and --seconds go together: requests a second, and for how long");
  }
  const bool paced = arguments.rate != 0;
  options.keys = paced ? 1 : arguments.keys;
  const std::uint64_t calls =
      paced ? std::uint64_t{arguments.rate} * arguments.seconds : std::uint64_t{arguments.duplicates};
  if (options.keys == 0 || calls == 0) return fail(Code::invalid, "--keys and --duplicates must be at least 1");
  if (options.keys * calls > calls_max) {
    return fail(Code::invalid,
                fmt::format("{} requests are too many for one run; {} is the limit", options.keys * calls, calls_max));
  }
  options.calls = static_cast<std::uint32_t>(calls);
  options.rate = arguments.rate;
  options.connections = arguments.connections != 0 ? arguments.connections
                        : paced                    ? connections_for_rate
                                                   : std::min(2 * options.calls, connections_by_itself);
  if (options.connections > connections_max) {
    return fail(Code::invalid, fmt::format("--connections: {} is the limit", connections_max));
  }
  if (arguments.cut_percent > 90) return fail(Code::invalid, "--cut: 90 is the limit, or nothing would come through");
  if (arguments.wrong_percent > 90) return fail(Code::invalid, "--wrong-body: 90 is the limit");
  if (arguments.patience_seconds == 0 || arguments.patience_seconds > 3'600) {
    return fail(Code::invalid, "--patience: from 1 to 3600 seconds");
  }
  if (arguments.time_limit_seconds == 0 || arguments.time_limit_seconds > 3'600) {
    return fail(Code::invalid, "--time-limit: from 1 to 3600 seconds");
  }
  options.cut_percent = arguments.cut_percent;
  options.wrong_percent = arguments.wrong_percent;
  options.patience = Millis{1'000} * arguments.patience_seconds;
  options.time_limit = Millis{1'000} * arguments.time_limit_seconds;
  return {};
}

}  // namespace

Result<HammerOptions> check_arguments(const HammerArguments& arguments) {
  HammerOptions options;
  auto target = read_target(arguments.url, arguments.own_target);
  if (!target) return std::unexpected(target.error());
  options.url = arguments.url;
  options.target = *std::move(target);
  if (!arguments.effects.empty()) {
    auto effects = read_target(arguments.effects, arguments.own_target);
    if (!effects) return std::unexpected(effects.error());
    options.effects = *std::move(effects);
  }
  if (options.target.secure || (options.effects && options.effects->secure)) {
    auto tls =
        http::TlsContext::for_client({.ca_file = arguments.ca,
                                      .cert_file = {},
                                      .key_file = {},
                                      .verify = arguments.insecure ? http::Verify::nothing : http::Verify::peer});
    if (!tls) return std::unexpected(tls.error());
    options.tls = *std::move(tls);
  }
  for (const std::string& text : arguments.headers) {
    auto field = read_header(text);
    if (!field) return std::unexpected(field.error());
    options.fields.push_back(*std::move(field));
  }
  options.method = arguments.method;
  options.body = arguments.body;
  options.key_header = arguments.key_header;
  options.replay_header = arguments.replay_header;
  if (!sound(options)) {
    return fail(Code::invalid, "the method, the path or a header cannot be written in an HTTP request");
  }
  if (const auto numbers = read_numbers(arguments, options); !numbers) return std::unexpected(numbers.error());
  return options;
}

std::string body_for(std::string_view text, std::uint64_t number, std::string_view key) {
  constexpr std::string_view number_mark = "{n}";
  constexpr std::string_view key_mark = "{key}";
  std::string body;
  while (!text.empty()) {
    if (text.starts_with(number_mark)) {
      body += std::to_string(number);
      text.remove_prefix(number_mark.size());
    } else if (text.starts_with(key_mark)) {
      body += key;
      text.remove_prefix(key_mark.size());
    } else {
      body += text.front();
      text.remove_prefix(1);
    }
  }
  return body;
}

std::string another_body(std::string_view body) {
  const std::size_t end = body.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos || body[end] != '}') return std::string(body) + "another";
  const std::size_t before = body.substr(0, end).find_last_not_of(" \t\r\n");
  const bool empty = before == std::string_view::npos || body[before] == '{';
  return fmt::format(R"({}{}"another":true}})", body.substr(0, end), empty ? "" : ",");
}

}  // namespace semel::cli
