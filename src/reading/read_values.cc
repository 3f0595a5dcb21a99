// The kinds of value that a configuration file has, and the secrets that it only names.
#include "reading/read_values.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/ascii.h"
#include "reading/document.h"
#include "reading/fault.h"
#include "reading/nearest.h"
#include "reading/secret.h"
#include "reading/table_reader.h"
#include "reading/units.h"
#include <semel/clock.h>

namespace semel::reading {

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out + "\"";
}

std::string toml_list(std::span<const std::string> items) {
  std::vector<std::string> quoted;
  for (const std::string& item : items) quoted.push_back(toml_string(item));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

void read_flag(TableReader& table, std::string_view key, bool& into) {
  const std::string before = into ? "true" : "false";
  const Node* const value = table.find(key);
  if (value != nullptr && table.expect(key, *value, NodeKind::boolean)) into = value->integer != 0;
  table.record(key, before, into ? "true" : "false");
}

void read_count(TableReader& table, std::string_view key, std::uint32_t& into, Range<std::uint32_t> range) {
  const std::string before = std::to_string(into);
  const Node* const value = table.find(key);
  if (value != nullptr && table.expect(key, *value, NodeKind::integer)) {
    if (value->integer < range.min || value->integer > range.max) {
      table.reject(key, value->at, fmt::format("{} must be from {} to {}", key, range.min, range.max));
    } else {
      into = static_cast<std::uint32_t>(value->integer);
    }
  }
  table.record(key, before, std::to_string(into));
}

void read_duration(TableReader& table, std::string_view key, Millis& into, Range<Millis> range) {
  const auto parse = [&](std::string_view text) -> Parsed<Millis> {
    auto duration = parse_duration(text);
    if (duration && (*duration < range.min || *duration > range.max)) {
      return fault(fmt::format("must be from {} to {}", duration_text(range.min), duration_text(range.max)));
    }
    return duration;
  };
  const Node* const value = table.find(key);
  if (value != nullptr && value->kind == NodeKind::integer) {
    const std::string before = toml_string(duration_text(into));
    table.reject(key, value->at, fmt::format("{} needs a unit: ms, s, m, h or d", key),
                 fmt::format("{}s", value->integer));
    table.record(key, before, before);
    return;
  }
  read_parsed(table, key, into, parse, duration_text);
}

void read_bytes(TableReader& table, std::string_view key, std::uint64_t& into, Range<std::uint64_t> range) {
  const auto check_range = [&](std::uint64_t bytes) -> Parsed<std::uint64_t> {
    if (bytes >= range.min && bytes <= range.max) return bytes;
    return fault(fmt::format("must be from {} to {}", bytes_text(range.min), bytes_text(range.max)));
  };
  const std::string before = toml_string(bytes_text(into));
  const Node* const value = table.find(key);
  if (value != nullptr && (value->kind == NodeKind::integer || table.expect(key, *value, NodeKind::string))) {
    const bool number = value->kind == NodeKind::integer;
    auto bytes = !number              ? parse_bytes(value->text)
                 : value->integer < 0 ? Parsed<std::uint64_t>(std::numeric_limits<std::uint64_t>::max())
                                      : Parsed<std::uint64_t>(static_cast<std::uint64_t>(value->integer));
    if (bytes) bytes = check_range(*bytes);
    if (bytes) into = *bytes;
    if (!bytes) table.reject(key, *value, bytes.error());
  }
  table.record(key, before, toml_string(bytes_text(into)));
}

void read_text(TableReader& table, std::string_view key, std::string& into) {
  const auto parse = [](std::string_view text) -> Parsed<std::string> {
    if (std::ranges::any_of(text, core::is_control)) return fault("holds control characters");
    return std::string(text);
  };
  read_parsed(table, key, into, parse, [](const std::string& text) { return text; });
}

void read_file_name(TableReader& table, std::string_view key, std::string_view option, std::string& into) {
  read_text(table, key, into);
  if (into.empty() || !table.has(key) || !table.good(key)) return;
  into = table.reading().resolver->path(into);
  table.reading().files.push_back({.option = std::string(option), .path = into, .at = table.at(key)});
}

void read_list(TableReader& table, std::string_view key, std::vector<std::string>& into,
               const std::function<Parsed<void>(const std::string&)>& take) {
  const std::string before = toml_list(into);
  const Node* const value = table.find(key);
  if (value != nullptr && table.expect(key, *value, NodeKind::array)) {
    into.clear();
    for (const Node& item : value->children) {
      if (!table.expect(key, item, NodeKind::string)) continue;
      const auto taken = take(item.text);
      if (taken) into.push_back(item.text);
      if (!taken) table.reject(key, item, taken.error());
    }
  }
  table.record(key, before, toml_list(into));
}

Fault no_such_choice(std::string_view text, std::span<const std::string_view> names) {
  const auto near = nearest(text, names);
  return {.message = fmt::format("\"{}\" is none of \"{}\"", text, fmt::join(names, "\", \"")),
          .suggestion = std::string(near.value_or(std::string_view{}))};
}

std::optional<Secret> resolve(TableReader& table, std::string_view key, const Node& value, Literal literal) {
  if (!table.expect(key, value, NodeKind::string)) return std::nullopt;
  const std::string& text = value.text;
  std::string secret = text;
  if (text.starts_with("env:")) {
    const std::string name = text.substr(4);
    auto found = table.reading().resolver->environment(name);
    if (!found && table.reading().resolver->may_lack_secrets()) {
      table.pass_over(key);
      return std::nullopt;
    }
    if (!found) {
      table.reject(key, value.at, fmt::format("{}: the environment has no variable \"{}\"", key, name));
      return std::nullopt;
    }
    secret = std::move(*found);
  } else if (text.starts_with("file:")) {
    auto found = table.reading().resolver->file(text.substr(5));
    if (!found && table.reading().resolver->may_lack_secrets()) {
      table.pass_over(key);
      return std::nullopt;
    }
    if (!found) {
      table.reject(key, value.at, fmt::format("{}: cannot read \"{}\": {}", key, text.substr(5), found.error().detail));
      return std::nullopt;
    }
    secret = std::move(*found);
    if (secret.ends_with('\n')) secret.pop_back();  // what an editor adds
    if (secret.ends_with('\r')) secret.pop_back();
  } else if (literal == Literal::warned_about && !text.empty()) {
    table.reading().report.warning(
        value.at, fmt::format("{} is written in the file, where others can copy it; use env:NAME or file:PATH", key));
  }
  if (secret.empty()) {
    table.reject(key, value.at, fmt::format("{} is empty", key));
    return std::nullopt;
  }
  return Secret(std::move(secret));
}

void read_secret(TableReader& table, std::string_view key, Secret& into) {
  const Node* const value = table.find(key);
  if (value != nullptr) into = resolve(table, key, *value, Literal::warned_about).value_or(Secret{});
  table.record(key, toml_string(""), into.empty() ? toml_string("") : fmt::format("{}", into));
}

void read_secrets(TableReader& table, std::string_view key, std::vector<Secret>& into) {
  const Node* const value = table.find(key);
  if (value != nullptr && table.expect(key, *value, NodeKind::array)) {
    for (const Node& item : value->children) {
      if (auto secret = resolve(table, key, item, Literal::warned_about)) into.push_back(std::move(*secret));
    }
  }
  table.record(key, "[]", fmt::format("[{}]", fmt::join(into, ", ")));
}

std::vector<const Node*> one_or_more(TableReader& table, std::string_view key, const Node* value) {
  std::vector<const Node*> found;
  if (value == nullptr) return found;
  if (value->kind != NodeKind::array) {
    if (table.expect(key, *value, NodeKind::string)) found.push_back(value);
    return found;
  }
  if (value->children.empty()) table.reject(key, value->at, fmt::format("{} is an empty list", key));
  for (const Node& item : value->children) {
    if (table.expect(key, item, NodeKind::string)) found.push_back(&item);
  }
  return found;
}

}  // namespace semel::reading
