// From the text of a provider's file to a Provider; every table is read whatever the others hold.
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "policy/expression.h"
#include "reading/document.h"
#include "reading/fault.h"
#include "reading/issue.h"
#include "reading/read_values.h"
#include "reading/report.h"
#include "reading/table_reader.h"
#include "reading/units.h"
#include "webhook/provider.h"
#include "webhook/provider_sections.h"
#include <semel/clock.h>

namespace semel::webhook {
namespace {

constexpr std::size_t file_bytes_max = 64U << 10U;

void read_acknowledgement(reading::Reading& reading, const reading::Node* node, std::optional<Acknowledgement>& into) {
  if (node == nullptr) return;
  reading::TableReader table(reading, node, "ack");
  Acknowledgement ack;
  std::uint32_t status = 200;
  reading::read_count(table, "status", status, {.min = 200, .max = 299});
  ack.status = static_cast<std::uint16_t>(status);
  reading::read_text(table, "body", ack.body);
  table.finish();
  into = std::move(ack);
}

template <class Read>
void read_tables(reading::Reading& reading, const reading::Node* node, std::string_view name, Read read) {
  if (node == nullptr) return;
  if (node->kind != reading::NodeKind::array) {
    reading.report.error(node->at, fmt::format("{} is a list of tables", name), fmt::format("[[{}]]", name));
    return;
  }
  for (const reading::Node& item : node->children) read(item);
}

void read_file(reading::Reading& reading, const reading::Node& root, Provider& provider) {
  reading::TableReader top(reading, &root, "the file");
  provider.title = provider.name;
  reading::read_text(top, "title", provider.title);
  reading::read_text(top, "about", provider.about);
  reading::read_text(top, "json_part", provider.json_part);
  reading::read_duration(top, "horizon", provider.horizon, {.min = Millis{0}, .max = 365 * reading::one_day});
  provider.ttl = 7 * reading::one_day;
  reading::read_duration(top, "ttl", provider.ttl, {.min = reading::one_second, .max = 3650 * reading::one_day});
  if (provider.ttl < provider.horizon && top.good("ttl") && top.good("horizon")) {
    top.warn("ttl", fmt::format("ttl is shorter than horizon: a late retry would be delivered again"));
  }
  read_acknowledgement(reading, top.find("ack"), provider.ack);
  const reading::Node* const signatures = top.find("signature");
  if (signatures == nullptr || (signatures->kind == reading::NodeKind::array && signatures->children.empty())) {
    reading.report.error({}, "a provider needs [[signature]]; one that signs nothing says algorithm = \"none\"");
  }
  read_tables(reading, signatures, "signature",
              [&](const reading::Node& node) { read_signature(reading, node, provider); });
  const reading::Node* const event = top.find("event");
  read_event(reading, event, provider);
  read_tables(reading, top.find("handshake"), "handshake",
              [&](const reading::Node& node) { read_handshake(reading, node, provider); });
  if (!provider.json_part.empty() && provider.event.items) {
    top.reject("json_part", top.at("json_part"),
               "json_part and items do not go together: a part of a form is one event");
  }
  top.finish();
  if (!reading.report.has_errors()) check_claims(reading, signatures->children, event, provider);
}

}  // namespace

void read_expression(reading::TableReader& table, std::string_view key, policy::ExpressionUse use,
                     std::optional<policy::Expression>& into) {
  const auto parse = [use](std::string_view text) -> reading::Parsed<std::optional<policy::Expression>> {
    if (text.empty()) return std::nullopt;
    auto parsed = policy::parse_expression(text, use);
    if (!parsed) return std::unexpected(std::move(parsed).error());
    return *std::move(parsed);
  };
  reading::read_parsed(table, key, into, parse, [](const std::optional<policy::Expression>& value) {
    return value ? value->text : std::string{};
  });
}

std::expected<LoadedProvider, std::vector<reading::Issue>> parse_provider(std::string_view text, std::string_view name,
                                                                          std::string_view file) {
  reading::Reading reading{.report = reading::Report(file, text), .resolver = nullptr, .uses = {}};
  LoadedProvider loaded;
  loaded.provider.name = name;
  if (text.size() > file_bytes_max) {
    reading.report.error({}, "the file is over 64KiB");
    return std::unexpected(std::move(reading.report).take());
  }
  const auto root = reading::parse_document(text);
  if (!root) {
    reading.report.error(root.error().at, root.error().message);
    return std::unexpected(std::move(reading.report).take());
  }
  read_file(reading, *root, loaded.provider);
  const bool failed = reading.report.has_errors();
  loaded.warnings = std::move(reading.report).take();
  if (failed) return std::unexpected(std::move(loaded.warnings));
  return loaded;
}

}  // namespace semel::webhook
