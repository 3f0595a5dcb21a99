// [server], [admin], [log] and [reply].
#include <algorithm>
#include <array>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/config.h"
#include "config/match.h"
#include "config/sections.h"
#include "core/ascii.h"
#include "policy/fields.h"
#include "policy/forward.h"
#include "policy/host.h"
#include "policy/reply.h"
#include "reading/address.h"
#include "reading/document.h"
#include "reading/fault.h"
#include "reading/read_values.h"
#include "reading/table_reader.h"
#include <semel/fingerprint.h>

namespace semel::config {
namespace {

constexpr std::array forwarded_choices{reading::Choice<policy::Forwarded>{"append", policy::Forwarded::append},
                                       reading::Choice<policy::Forwarded>{"replace", policy::Forwarded::replace}};
constexpr std::array overrides_choices{reading::Choice<policy::Overrides>{"drop", policy::Overrides::drop},
                                       reading::Choice<policy::Overrides>{"pass", policy::Overrides::pass}};
constexpr std::array level_choices{
    reading::Choice<LogLevel>{"error", LogLevel::error}, reading::Choice<LogLevel>{"warning", LogLevel::warning},
    reading::Choice<LogLevel>{"info", LogLevel::info}, reading::Choice<LogLevel>{"debug", LogLevel::debug}};

constexpr std::array ready_choices{reading::Choice<ReadyNeeds>{"all", ReadyNeeds::all},
                                   reading::Choice<ReadyNeeds>{"store", ReadyNeeds::store}};

constexpr std::array client_cert_choices{reading::Choice<ClientCert>{"required", ClientCert::required},
                                         reading::Choice<ClientCert>{"optional", ClientCert::optional}};

std::string same(const std::string& text) {
  return text;
}

reading::Parsed<std::string> parse_url_or_nothing(std::string_view text) {
  if (text.empty()) return std::string{};
  const auto url = reading::parse_url(text);
  if (!url) return std::unexpected(url.error());
  return std::string(text);
}

reading::Parsed<std::string> parse_token(std::string_view text) {
  if (policy::is_field_name(text)) return std::string(text);
  return reading::fault("must be a name of letters, digits and - . _ ~");
}

void read_needed_file(reading::TableReader& table, std::string_view key, const std::string& option, std::string& into) {
  const reading::Node* const value = table.require(key);
  if (value == nullptr) {
    table.record(key, "", "");
    return;
  }
  reading::read_file_name(table, key, option, into);
  if (into.empty() && table.good(key)) table.reject(key, *value, reading::fault("is empty; name a file").error());
}

void read_hosts(reading::TableReader& table, std::vector<policy::HostPattern>& into) {
  std::vector<std::string> names;
  reading::read_list(table, "hosts", names, [&](const std::string& text) -> reading::Parsed<void> {
    auto host = policy::parse_host_pattern(text);
    if (!host) return std::unexpected(std::move(host).error());
    into.push_back(*std::move(host));
    return {};
  });
}

reading::Parsed<void> check_method(const std::string& method) {
  if (!policy::is_field_name(method)) return reading::fault(fmt::format("\"{}\" is not the name of a method", method));
  const auto same_but_case = [&](std::string_view one) { return core::equal_ignoring_case(one, method); };
  if (same_but_case("CONNECT") || same_but_case("TRACE")) return reading::fault("CONNECT and TRACE never pass");
  if (std::ranges::any_of(usual_methods, same_but_case)) {
    return reading::fault(fmt::format("{} passes in capital letters, and in no others; leave it out", method));
  }
  return {};
}

}  // namespace

void read_tls(reading::TableReader& table, std::string_view name, std::optional<TlsFiles>& into) {
  if (const reading::Node* const tls = table.find("tls")) {
    reading::TableReader files(table.reading(), tls, std::string(name));
    into.emplace();
    const std::string option(name);
    read_needed_file(files, "cert", option + ".cert", into->cert);
    read_needed_file(files, "key", option + ".key", into->key);
    reading::read_file_name(files, "client_ca", option + ".client_ca", into->client_ca);
    reading::read_choice(files, "client_cert", into->client_cert, client_cert_choices);
    if (files.has("client_cert") && into->client_ca.empty() && files.good("client_ca")) {
      files.warn("client_cert", "client_cert has no effect without client_ca");
    }
    files.finish();
  }
  table.record("tls", "{}", into ? "{...}" : "{}");
}

void read_server(reading::Reading& reading, const reading::Node* node, ServerConfig& server) {
  reading::TableReader table(reading, node, "server");
  reading::read_parsed(table, "listen", server.listen, reading::parse_endpoint, reading::endpoint_text);
  reading::read_count(table, "threads", server.threads, {.min = 0, .max = 1024});
  reading::read_parsed(table, "public_url", server.public_url, parse_url_or_nothing, same);
  read_hosts(table, server.hosts);
  reading::read_parsed(table, "name", server.name, parse_token, same);
  reading::read_text(table, "providers", server.providers);
  if (!server.providers.empty()) server.providers = reading.resolver->path(server.providers);
  reading::read_choice(table, "forwarded", server.forwarded, forwarded_choices);
  reading::read_choice(table, "overrides", server.overrides, overrides_choices);
  reading::read_list(table, "methods", server.methods, check_method);
  reading::read_text(table, "user", server.user);
  reading::read_flag(table, "policy_document", server.policy_document);
  read_tls(table, "server.tls", server.tls);
  read_cors(table, server.cors);
  table.finish();
}

void read_admin(reading::Reading& reading, const reading::Node* node, AdminConfig& admin) {
  reading::TableReader table(reading, node, "admin");
  const auto parse = [](std::string_view text) -> reading::Parsed<std::optional<reading::Endpoint>> {
    if (text.empty()) return std::nullopt;
    return reading::parse_endpoint(text);
  };
  const auto write = [](const std::optional<reading::Endpoint>& endpoint) {
    return endpoint ? reading::endpoint_text(*endpoint) : std::string{};
  };
  reading::read_parsed(table, "listen", admin.listen, parse, write);
  reading::read_secret(table, "token", admin.token);
  if (const reading::Node* const tokens = table.find("tokens")) {
    reading::TableReader roles(reading, tokens, "admin.tokens");
    reading::read_secret(roles, "viewer", admin.viewer);
    reading::read_secret(roles, "operator", admin.operates);
    reading::read_secret(roles, "admin", admin.admin);
    if (!roles.good("viewer") || !roles.good("operator") || !roles.good("admin")) table.pass_over("tokens");
    roles.finish();
  }
  reading::read_flag(table, "dashboard", admin.dashboard);
  std::vector<std::string> pointers;
  reading::read_list(table, "redact", pointers, check_pointer);
  if (auto list = IgnoreList::parse(pointers)) admin.redact = *std::move(list);
  const bool tokens = !admin.viewer.empty() || !admin.operates.empty() || !admin.admin.empty();
  table.record("tokens", "{}", tokens ? "{...}" : "{}");
  read_admin_proxy(table, admin.proxy);
  reading::read_choice(table, "ready_needs", admin.ready_needs, ready_choices);
  const bool known = !admin.token.empty() || tokens || admin.proxy;
  const bool open = admin.listen && !reading::is_loopback(*admin.listen) && !known;
  if (open && table.good("listen") && table.good("token") && table.good("tokens")) {
    table.reject("listen", table.at("listen"),
                 "admin.listen can be reached from outside, so admin.token is needed: anyone who connects could let "
                 "keys run again");
  }
  table.finish();
}

void read_log(reading::Reading& reading, const reading::Node* node, LogConfig& log) {
  reading::TableReader table(reading, node, "log");
  reading::read_choice(table, "level", log.level, level_choices);
  reading::read_flag(table, "requests", log.requests);
  table.finish();
}

void read_reply(reading::Reading& reading, const reading::Node* node, policy::ReplyConfig& reply) {
  reading::TableReader table(reading, node, "reply");
  const auto parse_base = [](std::string_view text) -> reading::Parsed<std::string> {
    const std::size_t odd = text.find_first_of(" \"<>\\^`{|}");
    if (odd != std::string_view::npos) return reading::fault("is not part of a URI", {}, odd);
    if (text.find(':') == std::string_view::npos)
      return reading::fault("must begin as a URI does, such as \"urn:\" or \"https:\"");
    return std::string(text);
  };
  const auto parse_name = [](std::string_view text) -> reading::Parsed<std::string> {
    if (!policy::is_field_name(text)) return reading::fault("is not the name of a field");
    if (policy::is_hop_by_hop(text) || policy::is_framing(text))
      return reading::fault("is a field with a meaning of its own in HTTP");
    return std::string(text);
  };
  const auto parse_docs = [](std::string_view text) -> reading::Parsed<std::string> {
    const bool web = text.starts_with("https://") || text.starts_with("http://");
    if (!text.empty() && (!web || text.find_first_of(" <>\"") != std::string_view::npos)) {
      return reading::fault("must be a URL that begins with https:// or http://, or empty");
    }
    return std::string(text);
  };
  reading::read_parsed(table, "problem_base", reply.problem_base, parse_base, same);
  reading::read_parsed(table, "replayed_header", reply.replayed_header, parse_name, same);
  reading::read_parsed(table, "docs_url", reply.docs_url, parse_docs, same);
  read_reply_status(table, reply.statuses);
  reading::read_flag(table, "error_member", reply.error_member);
  table.finish();
}

}  // namespace semel::config
