// The authentic deliveries of deliveries.txt, as requests.
#pragma once

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/places.h"
#include "support/rules.h"
#include "webhook/authenticate.h"
#include "webhook/provider.h"

namespace semel::test {

inline constexpr std::string_view public_url = "https://gw.example.com";

struct Recorded {
  std::string title;
  std::string provider;
  std::string secret;
  std::string signature;
  std::string alter{};
  Time now;
  bool body_signed = true;
  Sent request{.method = "POST", .target = "/hook"};
};

inline std::string with_line_ends(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == 'r' || text[i + 1] == 'n');
    if (escape) ++i;
    out.push_back(!escape ? text[i] : text[i] == 'r' ? '\r' : '\n');
  }
  return out;
}

inline std::vector<Recorded> recorded_deliveries() {
  std::ifstream file(test::in_tree("tests/webhook/deliveries.txt"));
  EXPECT_TRUE(file.is_open());
  std::vector<Recorded> all;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t space = std::min(line.find(' '), line.size() - 1);
    const std::string word = line.substr(0, space);
    const std::string rest = line.substr(space + 1);
    if (word == "==") {
      all.push_back(
          {.title = rest, .provider = rest.substr(0, rest.find(' ')), .secret = {}, .signature = {}, .now = {}});
      continue;
    }
    Recorded& last = all.back();
    if (word == "secret") last.secret = rest;
    if (word == "now") last.now = Time(std::chrono::seconds(std::stoll(rest)));
    if (word == "signature") last.signature = rest;
    if (word == "alter") last.alter = rest;
    if (word == "unsigned") last.body_signed = false;
    if (word == "body") last.request.body = with_line_ends(rest);
    if (word == "request") {
      last.request.method = rest.substr(0, rest.find(' '));
      last.request.target = rest.substr(rest.find(' ') + 1);
    }
    if (word == "field")
      last.request.fields.emplace_back(rest.substr(0, rest.find(": ")), rest.substr(rest.find(": ") + 2));
  }
  return all;
}

inline webhook::Provider builtin(std::string_view name) {
  const auto files = webhook::builtin_providers();
  const auto found = std::ranges::find(files, name, &webhook::ProviderFile::name);
  if (found == files.end()) {
    ADD_FAILURE() << "no provider " << name;
    return {};
  }
  auto loaded = webhook::parse_provider(found->text, name, std::string(name) + ".toml");
  if (!loaded) {
    ADD_FAILURE() << reading::to_text(loaded.error().front());
    return {};
  }
  return std::move(loaded->provider);
}

inline webhook::Lock lock_of(const webhook::Provider& provider, const std::vector<std::string>& secrets) {
  std::vector<reading::Secret> all;
  for (const std::string& secret : secrets) all.emplace_back(secret);
  return webhook::make_lock(provider, all, public_url, std::nullopt);
}

// "authentic", or why not.
inline std::string verdict(const webhook::Provider& provider, const webhook::Lock& lock, Sent& request, Time now) {
  const auto authentic = webhook::authenticate(provider, lock, request.view(), now);
  return authentic ? "authentic" : std::string(webhook::name(authentic.error()));
}

}  // namespace semel::test
