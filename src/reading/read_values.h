// Readers for each kind of value that a table may hold.
//
// They all work alike: the target holds the default, and is replaced if the key is present and its value is right. Both
// go into the survey.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "reading/address.h"
#include "reading/document.h"
#include "reading/fault.h"
#include "reading/secret.h"
#include "reading/table_reader.h"
#include <semel/clock.h>

namespace semel::reading {

template <class T>
struct Range {
  T min;
  T max;
};

std::string toml_string(std::string_view text);
std::string toml_list(std::span<const std::string> items);

void read_flag(TableReader& table, std::string_view key, bool& into);
void read_count(TableReader& table, std::string_view key, std::uint32_t& into, Range<std::uint32_t> range);
void read_duration(TableReader& table, std::string_view key, Millis& into, Range<Millis> range);
void read_bytes(TableReader& table, std::string_view key, std::uint64_t& into, Range<std::uint64_t> range);

// Any text without control characters.
void read_text(TableReader& table, std::string_view key, std::string& into);

// The name of a file, which may be empty. A relative one goes by the folder of the configuration.
void read_file_name(TableReader& table, std::string_view key, std::string_view option, std::string& into);

// A string that `parse` understands; `write` returns the text of the value, "" if there is none.
template <class T, class Parse, class Write>
void read_parsed(TableReader& table, std::string_view key, T& into, Parse parse, Write write) {
  const std::string before = write(into);
  const Node* const value = table.find(key);
  if (value != nullptr && table.expect(key, *value, NodeKind::string)) {
    if (auto parsed = parse(std::string_view(value->text))) {
      into = std::move(*parsed);
    } else {
      table.reject(key, *value, parsed.error());
    }
  }
  table.record(key, toml_string(before), toml_string(write(into)));
}

// A list of strings. `take` gets each of them and returns what is wrong with it.
void read_list(TableReader& table, std::string_view key, std::vector<std::string>& into,
               const std::function<Parsed<void>(const std::string&)>& take);

template <class E>
using Choice = std::pair<std::string_view, E>;

Fault no_such_choice(std::string_view text, std::span<const std::string_view> names);

template <class E>
Parsed<E> parse_choice(std::string_view text, std::span<const Choice<E>> choices) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
    names.push_back(name);
  }
  return std::unexpected(no_such_choice(text, names));
}

// One of a few words.
template <class E, std::size_t N>
void read_choice(TableReader& table, std::string_view key, E& into, const std::array<Choice<E>, N>& choices) {
  const auto parse = [&](std::string_view text) { return parse_choice<E>(text, choices); };
  const auto write = [&](E value) {
    for (const auto& [name, choice] : choices) {
      if (choice == value) return std::string(name);
    }
    return std::string{};
  };
  read_parsed(table, key, into, parse, write);
}

// A literal secret works, and is warned about; a store's address is one only if it holds a password.
enum class Literal : std::uint8_t { warned_about, fine };

// `env:NAME`, `file:PATH` or the secret itself. Null if it could not be read, which has been reported.
std::optional<Secret> resolve(TableReader& table, std::string_view key, const Node& value, Literal literal);

void read_secret(TableReader& table, std::string_view key, Secret& into);
void read_secrets(TableReader& table, std::string_view key, std::vector<Secret>& into);

// A string, or a list of them that is not empty; null nodes are left out.
std::vector<const Node*> one_or_more(TableReader& table, std::string_view key, const Node* value);

// A value that has no default of its own: "" if another place decides.
template <class T, class Parse, class Write>
void read_optional(TableReader& table, std::string_view key, std::optional<T>& into, Parse parse, Write write) {
  const auto parse_some = [&](std::string_view text) -> Parsed<std::optional<T>> {
    if (text.empty()) return std::nullopt;
    auto parsed = parse(text);
    if (!parsed) return std::unexpected(std::move(parsed).error());
    return std::move(*parsed);
  };
  read_parsed(table, key, into, parse_some,
              [&](const std::optional<T>& value) { return value ? write(*value) : std::string{}; });
}

}  // namespace semel::reading
