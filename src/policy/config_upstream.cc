// [upstream.NAME]
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "policy/address.h"
#include "policy/ascii.h"
#include "policy/config.h"
#include "policy/config_sections.h"
#include "policy/document.h"
#include "policy/nearest.h"
#include "policy/read_values.h"
#include "policy/table_reader.h"
#include <semel/clock.h>

namespace semel {
namespace {

constexpr std::array host_choices{Choice<HostSource>{"client", HostSource::client},
                                  Choice<HostSource>{"upstream", HostSource::upstream}};

bool is_plain_name(std::string_view name) {
  const auto plain = [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.'; };
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, plain);
}

void read_urls(TableReader& table, UpstreamConfig& upstream) {
  const Node* const value = table.require("url");
  std::vector<std::string> texts;
  for (const Node* item : one_or_more(table, "url", value)) {
    auto url = parse_url(item->text);
    if (!url) {
      table.reject("url", *item, url.error());
    } else if (!url->path.empty() && url->path != "/") {
      table.reject("url", item->at, "url has a path; requests keep their own, so it cannot be added",
                   url_text({.secure = url->secure, .authority = url->authority, .path = {}}));
    } else {
      url->path.clear();
      texts.push_back(url_text(*url));
      upstream.urls.push_back(std::move(*url));
    }
  }
  table.record("url", "", texts.size() == 1 ? toml_string(texts.front()) : toml_list(texts));
}

void check_tls(TableReader& table, const UpstreamConfig& upstream) {
  if (upstream.cert.empty() != upstream.key.empty()) {
    const std::string_view given = upstream.cert.empty() ? "key" : "cert";
    table.reject(given, table.at(given), "cert and key go together: the certificate, and the key that it is for");
  }
  if (!upstream.verify) {
    table.warn("verify",
               "verify = false: whoever answers at this address is believed, and can read and alter everything");
  }
  if (!table.good("url") || std::ranges::any_of(upstream.urls, &Url::secure)) return;
  for (const std::string_view option : {"ca", "cert", "verify"}) {
    if (table.has(option)) table.warn(option, fmt::format("{} has no effect: none of the URLs is https://", option));
  }
}

void read_upstream(Reading& reading, const Node& node, Config& config) {
  TableReader table(reading, &node, "upstream.*");
  UpstreamConfig upstream;
  upstream.name = node.name;
  if (!is_plain_name(node.name)) {
    reading.report.error(node.name_at, "the name of an upstream is 1 to 64 letters, digits, dots, - and _");
  }
  const Range<Millis> any_wait{.min = Millis{1}, .max = one_day};
  read_urls(table, upstream);
  read_duration(table, "timeout", upstream.timeout, any_wait);
  read_duration(table, "connect_timeout", upstream.connect_timeout, any_wait);
  read_duration(table, "idle_timeout", upstream.idle_timeout, {.min = Millis{0}, .max = one_day});
  read_count(table, "connections", upstream.connections, {.min = 1, .max = 100'000});
  read_choice(table, "host", upstream.host, host_choices);
  read_text(table, "ca", upstream.ca);
  read_text(table, "cert", upstream.cert);
  read_text(table, "key", upstream.key);
  read_flag(table, "verify", upstream.verify);
  const bool times = table.good("timeout") && table.good("connect_timeout");
  if (times && upstream.connect_timeout > upstream.timeout) {
    table.reject("connect_timeout", table.at("connect_timeout"), "connect_timeout is longer than timeout");
  }
  check_tls(table, upstream);
  table.finish();
  config.upstreams.push_back(std::move(upstream));
}

}  // namespace

void read_upstreams(Reading& reading, const Node* node, Config& config) {
  if (node == nullptr) return;
  if (node->kind != NodeKind::table) {
    reading.report.error(node->at, fmt::format("upstream must be a table, not {}", kind_name(node->kind)));
    return;
  }
  for (const Node& member : node->children) {
    if (member.kind != NodeKind::table) {
      reading.report.error(member.name_at,
                           fmt::format("`{}` stands in [upstream]; an upstream has a name of its own", member.name),
                           "[upstream.app]");
      continue;
    }
    read_upstream(reading, member, config);
  }
}

void read_upstream_name(TableReader& table, const Config& config, std::size_t& into) {
  const Node* const value = table.require("upstream");
  table.record("upstream", "", value != nullptr ? toml_string(value->text) : "");
  if (value == nullptr || !table.expect("upstream", *value, NodeKind::string)) return;
  std::vector<std::string_view> names;
  names.reserve(config.upstreams.size());
  for (const UpstreamConfig& upstream : config.upstreams) names.emplace_back(upstream.name);
  const auto found = std::ranges::find(names, value->text);
  if (found != names.end()) {
    into = static_cast<std::size_t>(found - names.begin());
    return;
  }
  table.reject("upstream", value->at, fmt::format("there is no [upstream.{}]", value->text),
               nearest(value->text, names).value_or(std::string_view{}));
}

}  // namespace semel
