// What the tests of the rules share: a resolver without I/O, requests from literals, issues as text.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "config/config.h"
#include "config/parse.h"
#include "core/field_view.h"
#include "policy/request_view.h"
#include "reading/issue.h"
#include "reading/resolver.h"

namespace semel::test {

class FakeResolver : public reading::Resolver {
 public:
  std::map<std::string, std::string> variables{{"TOKEN", "token from the environment"}};
  std::map<std::string, std::string> files{{"/run/token", "token from a file\n"}};

  [[nodiscard]] std::optional<std::string> environment(const std::string& name) const override {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] Result<std::string> file(const std::string& path) const override {
    const auto found = files.find(path);
    if (found == files.end()) return fail(Code::unavailable, "no such file");
    return found->second;
  }
};

// A file with everything that must be there, so that a test adds only what it is about. Seven lines.
inline constexpr std::string_view least =
    "[upstream.app]\n"
    "url = \"http://127.0.0.1:3000\"\n"
    "[[route]]\n"
    "path = \"/v1/*\"\n"
    "upstream = \"app\"\n"
    "\n"
    "\n";

inline std::vector<std::string> texts(const std::vector<reading::Issue>& issues, reading::Severity severity) {
  std::vector<std::string> lines;
  for (const reading::Issue& issue : issues) {
    if (issue.severity == severity) lines.push_back(reading::to_text(issue));
  }
  return lines;
}

// Every issue of the kind, as a command line would print them.
inline std::vector<std::string> issues(std::string_view text, reading::Severity severity) {
  const FakeResolver resolver;
  const auto parsed = config::parse_config(text, "f", resolver);
  return texts(parsed ? parsed->warnings : parsed.error(), severity);
}

inline config::Config config(std::string_view text) {
  const FakeResolver resolver;
  auto parsed = config::parse_config(text, "f", resolver);
  if (!parsed) {
    ADD_FAILURE() << "not a configuration: " << reading::to_text(parsed.error().front());
    return {};
  }
  return std::move(parsed->config);
}

// A request whose views live as long as it does.
struct Sent {
  std::string method = "POST";
  std::string target = "/v1/payments";
  std::vector<std::pair<std::string, std::string>> fields{};
  std::string body{};
  std::string ip = "192.0.2.7";
  std::string client_subject{};

  [[nodiscard]] policy::RequestView view() {
    views.clear();
    for (const auto& [name, value] : fields) views.push_back({.name = name, .value = value});
    policy::RequestView request{
        .method = method, .target = {}, .path = {}, .query = {}, .fields = views, .body = body, .ip = ip};
    request.client_subject = client_subject;
    policy::set_target(request, target);
    return request;
  }

  std::vector<FieldView> views{};
};

}  // namespace semel::test
