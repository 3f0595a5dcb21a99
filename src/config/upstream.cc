// [upstream.NAME]
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/config.h"
#include "config/sections.h"
#include "core/ascii.h"
#include "reading/address.h"
#include "reading/document.h"
#include "reading/nearest.h"
#include "reading/read_values.h"
#include "reading/table_reader.h"
#include "reading/units.h"
#include <semel/clock.h>

namespace semel::config {
namespace {

constexpr std::array host_choices{reading::Choice<HostSource>{"client", HostSource::client},
                                  reading::Choice<HostSource>{"upstream", HostSource::upstream}};
constexpr std::array path_choices{reading::Choice<PathReading>{"lenient", PathReading::lenient},
                                  reading::Choice<PathReading>{"exact", PathReading::exact}};

bool is_plain_name(std::string_view name) {
  const auto plain = [](char c) { return core::is_letter(c) || core::is_digit(c) || c == '-' || c == '_' || c == '.'; };
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, plain);
}

void read_urls(reading::TableReader& table, UpstreamConfig& upstream) {
  const reading::Node* const value = table.require("url");
  std::vector<std::string> texts;
  for (const reading::Node* item : reading::one_or_more(table, "url", value)) {
    auto url = reading::parse_url(item->text);
    if (!url) {
      table.reject("url", *item, url.error());
    } else if (!url->path.empty() && url->path != "/") {
      table.reject("url", item->at, "url has a path; requests keep their own, so it cannot be added",
                   reading::url_text({.secure = url->secure, .authority = url->authority, .path = {}}));
    } else {
      url->path.clear();
      texts.push_back(reading::url_text(*url));
      upstream.urls.push_back(std::move(*url));
    }
  }
  table.record("url", "", texts.size() == 1 ? reading::toml_string(texts.front()) : reading::toml_list(texts));
}

void check_tls(reading::TableReader& table, const UpstreamConfig& upstream) {
  if (upstream.cert.empty() != upstream.key.empty()) {
    const std::string_view given = upstream.cert.empty() ? "key" : "cert";
    table.reject(given, table.at(given), "cert and key go together: the certificate, and the key that it is for");
  }
  if (!upstream.verify) {
    table.warn("verify", "verify = false: any server at this address is trusted, and can read and alter everything");
  }
  if (!table.good("url") || std::ranges::any_of(upstream.urls, &reading::Url::secure)) return;
  for (const std::string_view option : {"ca", "cert", "verify"}) {
    if (table.has(option)) table.warn(option, fmt::format("{} has no effect: none of the URLs is https://", option));
  }
}

void read_upstream(reading::Reading& reading, const reading::Node& node, Config& config) {
  reading::TableReader table(reading, &node, "upstream.*");
  UpstreamConfig upstream;
  upstream.name = node.name;
  if (!is_plain_name(node.name)) {
    reading.report.error(node.name_at, "the name of an upstream is 1 to 64 letters, digits, dots, - and _");
  }
  const reading::Range<Millis> any_wait{.min = Millis{1}, .max = reading::one_day};
  read_urls(table, upstream);
  reading::read_duration(table, "timeout", upstream.timeout, any_wait);
  reading::read_duration(table, "connect_timeout", upstream.connect_timeout, any_wait);
  reading::read_duration(table, "idle_timeout", upstream.idle_timeout, {.min = Millis{0}, .max = reading::one_day});
  reading::read_count(table, "connections", upstream.connections, {.min = 1, .max = 100'000});
  reading::read_choice(table, "host", upstream.host, host_choices);
  reading::read_choice(table, "paths", upstream.paths, path_choices);
  const std::string option = "upstream." + upstream.name;
  reading::read_file_name(table, "ca", option + ".ca", upstream.ca);
  reading::read_file_name(table, "cert", option + ".cert", upstream.cert);
  reading::read_file_name(table, "key", option + ".key", upstream.key);
  reading::read_flag(table, "verify", upstream.verify);
  if (!table.has("connect_timeout")) upstream.connect_timeout = std::min(upstream.connect_timeout, upstream.timeout);
  const bool times = table.good("timeout") && table.good("connect_timeout");
  if (times && upstream.connect_timeout > upstream.timeout) {
    table.reject("connect_timeout", table.at("connect_timeout"),
                 fmt::format("connect_timeout ({}) is longer than {}timeout ({})",
                             reading::duration_text(upstream.connect_timeout),
                             table.has("timeout") ? "" : "the default ", reading::duration_text(upstream.timeout)));
  }
  check_tls(table, upstream);
  table.finish();
  config.upstreams.push_back(std::move(upstream));
}

}  // namespace

void read_upstreams(reading::Reading& reading, const reading::Node* node, Config& config) {
  if (node == nullptr) return;
  if (node->kind != reading::NodeKind::table) {
    reading.report.error(node->at, fmt::format("upstream must be a table, not {}", reading::kind_name(node->kind)));
    return;
  }
  for (const reading::Node& member : node->children) {
    if (member.kind != reading::NodeKind::table) {
      reading.report.error(member.name_at,
                           fmt::format("`{}` is directly in [upstream]; give the upstream a name", member.name),
                           "[upstream.app]");
      continue;
    }
    read_upstream(reading, member, config);
  }
}

void read_upstream_name(reading::TableReader& table, const Config& config, std::size_t& into) {
  const reading::Node* const value = table.require("upstream");
  table.record("upstream", "", value != nullptr ? reading::toml_string(value->text) : "");
  if (value == nullptr || !table.expect("upstream", *value, reading::NodeKind::string)) return;
  std::vector<std::string_view> names;
  names.reserve(config.upstreams.size());
  for (const UpstreamConfig& upstream : config.upstreams) names.emplace_back(upstream.name);
  const auto found = std::ranges::find(names, value->text);
  if (found != names.end()) {
    into = static_cast<std::size_t>(found - names.begin());
    return;
  }
  table.reject("upstream", value->at, fmt::format("there is no [upstream.{}]", value->text),
               reading::nearest(value->text, names).value_or(std::string_view{}));
}

}  // namespace semel::config
