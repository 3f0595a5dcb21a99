// [server], [admin], [log] and [reply].
#include <array>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/address.h"
#include "policy/config.h"
#include "policy/config_sections.h"
#include "policy/document.h"
#include "policy/fault.h"
#include "policy/fields.h"
#include "policy/host.h"
#include "policy/read_values.h"
#include "policy/reply.h"
#include "policy/table_reader.h"

namespace semel {
namespace {

constexpr std::array forwarded_choices{Choice<Forwarded>{"append", Forwarded::append},
                                       Choice<Forwarded>{"replace", Forwarded::replace}};
constexpr std::array level_choices{
    Choice<LogLevel>{"error", LogLevel::error}, Choice<LogLevel>{"warning", LogLevel::warning},
    Choice<LogLevel>{"info", LogLevel::info}, Choice<LogLevel>{"debug", LogLevel::debug}};

constexpr std::array client_cert_choices{Choice<ClientCert>{"required", ClientCert::required},
                                         Choice<ClientCert>{"optional", ClientCert::optional}};

std::string same(const std::string& text) {
  return text;
}

Parsed<std::string> parse_url_or_nothing(std::string_view text) {
  if (text.empty()) return std::string{};
  const auto url = parse_url(text);
  if (!url) return std::unexpected(url.error());
  return std::string(text);
}

Parsed<std::string> parse_token(std::string_view text) {
  if (is_field_name(text)) return std::string(text);
  return fault("must be a name of letters, digits and - . _ ~");
}

void read_file_name(TableReader& table, std::string_view key, std::string& into) {
  if (table.require(key) == nullptr) {
    table.record(key, "", "");
    return;
  }
  const auto parse = [](std::string_view text) -> Parsed<std::string> {
    if (text.empty()) return fault("is empty; name a file");
    return std::string(text);
  };
  read_parsed(table, key, into, parse, same);
}

void read_hosts(TableReader& table, std::vector<HostPattern>& into) {
  std::vector<std::string> names;
  read_list(table, "hosts", names, [&](const std::string& text) -> Parsed<void> {
    auto host = parse_host_pattern(text);
    if (!host) return std::unexpected(std::move(host).error());
    into.push_back(*std::move(host));
    return {};
  });
}

}  // namespace

void read_server(Reading& reading, const Node* node, ServerConfig& server) {
  TableReader table(reading, node, "server");
  read_parsed(table, "listen", server.listen, parse_endpoint, endpoint_text);
  read_count(table, "threads", server.threads, {.min = 0, .max = 1024});
  read_parsed(table, "public_url", server.public_url, parse_url_or_nothing, same);
  read_hosts(table, server.hosts);
  read_parsed(table, "name", server.name, parse_token, same);
  read_text(table, "providers", server.providers);
  read_choice(table, "forwarded", server.forwarded, forwarded_choices);
  read_text(table, "user", server.user);
  if (const Node* const tls = table.find("tls")) {
    TableReader files(reading, tls, "server.tls");
    server.tls.emplace();
    read_file_name(files, "cert", server.tls->cert);
    read_file_name(files, "key", server.tls->key);
    read_text(files, "client_ca", server.tls->client_ca);
    read_choice(files, "client_cert", server.tls->client_cert, client_cert_choices);
    if (files.has("client_cert") && server.tls->client_ca.empty() && files.good("client_ca")) {
      files.warn("client_cert", "client_cert has no effect without client_ca");
    }
    files.finish();
  }
  table.record("tls", "{}", server.tls ? "{...}" : "{}");
  table.finish();
}

void read_admin(Reading& reading, const Node* node, AdminConfig& admin) {
  TableReader table(reading, node, "admin");
  const auto parse = [](std::string_view text) -> Parsed<std::optional<Endpoint>> {
    if (text.empty()) return std::nullopt;
    return parse_endpoint(text);
  };
  const auto write = [](const std::optional<Endpoint>& endpoint) {
    return endpoint ? endpoint_text(*endpoint) : std::string{};
  };
  read_parsed(table, "listen", admin.listen, parse, write);
  read_secret(table, "token", admin.token);
  const bool open = admin.listen && !is_loopback(*admin.listen) && admin.token.empty();
  if (open && table.good("listen") && table.good("token")) {
    table.reject(
        "listen", table.at("listen"),
        "admin.listen can be reached from outside, so admin.token is needed: whoever gets in can resolve keys");
  }
  table.finish();
}

void read_log(Reading& reading, const Node* node, LogConfig& log) {
  TableReader table(reading, node, "log");
  read_choice(table, "level", log.level, level_choices);
  read_flag(table, "requests", log.requests);
  table.finish();
}

void read_reply(Reading& reading, const Node* node, ReplyConfig& reply) {
  TableReader table(reading, node, "reply");
  const auto parse_base = [](std::string_view text) -> Parsed<std::string> {
    const std::size_t odd = text.find_first_of(" \"<>\\^`{|}");
    if (odd != std::string_view::npos) return fault("is not part of a URI", {}, odd);
    if (text.find(':') == std::string_view::npos)
      return fault("must begin as a URI does, such as \"urn:\" or \"https:\"");
    return std::string(text);
  };
  const auto parse_name = [](std::string_view text) -> Parsed<std::string> {
    if (!is_field_name(text)) return fault("is not the name of a field");
    if (is_hop_by_hop(text) || is_framing(text)) return fault("is a field with a meaning of its own in HTTP");
    return std::string(text);
  };
  const auto parse_docs = [](std::string_view text) -> Parsed<std::string> {
    const bool web = text.starts_with("https://") || text.starts_with("http://");
    if (!text.empty() && (!web || text.find_first_of(" <>\"") != std::string_view::npos)) {
      return fault("must be a URL that begins with https:// or http://, or empty");
    }
    return std::string(text);
  };
  read_parsed(table, "problem_base", reply.problem_base, parse_base, same);
  read_parsed(table, "replayed_header", reply.replayed_header, parse_name, same);
  read_parsed(table, "docs_url", reply.docs_url, parse_docs, same);
  read_flag(table, "error_member", reply.error_member);
  table.finish();
}

}  // namespace semel
