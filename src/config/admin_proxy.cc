// admin.proxy: a proxy that knows its users stands in front of the operators' listener.
#include <algorithm>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "config/sections.h"
#include "core/ascii.h"
#include "policy/fields.h"
#include "reading/address_range.h"
#include "reading/document.h"
#include "reading/fault.h"
#include "reading/read_values.h"
#include "reading/table_reader.h"

namespace semel::config {
namespace {

constexpr std::size_t secret_bytes_min = 16;

void read_field_name(reading::TableReader& table, std::string_view key, std::string& into) {
  const auto parse = [](std::string_view text) -> reading::Parsed<std::string> {
    if (!policy::is_field_name(text)) return reading::fault("is not the name of a field");
    return std::string(text);
  };
  reading::read_parsed(table, key, into, parse, [](const std::string& text) { return text; });
}

void read_groups(reading::TableReader& table, std::string_view key, std::vector<std::string>& into) {
  reading::read_list(table, key, into, [](const std::string& group) -> reading::Parsed<void> {
    if (group.empty()) return reading::fault("an empty group names nobody");
    if (group.find(',') != std::string::npos) return reading::fault("a group cannot hold a comma: it separates groups");
    if (std::ranges::any_of(group, core::is_control)) return reading::fault("holds control characters");
    return {};
  });
}

void read_trusted(reading::TableReader& table, std::vector<reading::AddressRange>& into) {
  std::vector<std::string> texts;
  reading::read_list(table, "trusted", texts, [&](const std::string& text) -> reading::Parsed<void> {
    auto range = reading::AddressRange::parse(text);
    if (!range) return std::unexpected(std::move(range).error());
    into.push_back(*std::move(range));
    return {};
  });
  if (into.empty() && table.good("trusted")) {
    table.reject("trusted", table.at("trusted"), "trusted must name the addresses of the proxy");
  }
}

}  // namespace

void read_admin_proxy(reading::TableReader& admin, std::optional<AdminProxy>& into) {
  if (const reading::Node* const node = admin.find("proxy")) {
    reading::TableReader table(admin.reading(), node, "admin.proxy");
    AdminProxy proxy;
    read_trusted(table, proxy.trusted);
    reading::read_secret(table, "secret", proxy.secret);
    if (proxy.secret.reveal().size() < secret_bytes_min && table.good("secret")) {
      table.reject("secret", table.at("secret"),
                   "secret must have at least 16 bytes: it is what tells the proxy from others at its address");
    }
    read_field_name(table, "user", proxy.user);
    read_field_name(table, "groups", proxy.groups);
    read_groups(table, "viewer", proxy.viewer);
    read_groups(table, "operator", proxy.operates);
    read_groups(table, "admin", proxy.admin);
    if (proxy.viewer.empty() && proxy.operates.empty() && proxy.admin.empty()) {
      table.warn("viewer", "no group has a role: nobody gets in through the proxy");
    }
    table.finish();
    into = std::move(proxy);
  }
  admin.record("proxy", "{}", into ? "{...}" : "{}");
}

}  // namespace semel::config
