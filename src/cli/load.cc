// Reads the files that a configuration names and points at what is wrong in them.
#include "cli/load.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/stores.h"
#include "config/config.h"
#include "config/parse.h"
#include "http/certificate.h"
#include "reading/issue.h"
#include "reading/nearest.h"
#include "reading/resolver.h"
#include "reading/table_reader.h"
#include "webhook/provider.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::cli {
namespace {

constexpr Millis expiry_notice{30 * 86'400'000LL};

class SystemResolver : public reading::Resolver {
 public:
  SystemResolver(const std::string& config, Secrets secrets) : secrets_(secrets) {
    std::error_code ignored;
    folder_ = std::filesystem::absolute(config, ignored).parent_path();
  }

  [[nodiscard]] std::optional<std::string> environment(const std::string& name) const override {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  }
  [[nodiscard]] Result<std::string> file(const std::string& name) const override { return read_file(path(name)); }
  [[nodiscard]] std::string path(const std::string& written) const override { return (folder_ / written).string(); }
  [[nodiscard]] bool may_lack_secrets() const override { return secrets_ == Secrets::may_be_missing; }

 private:
  std::filesystem::path folder_;
  Secrets secrets_;
};

// What is wrong with the files of TLS, at the place that names them.
std::vector<reading::Issue> look_at_files(const std::string& config, const std::vector<reading::NamedFile>& files,
                                          Time now) {
  std::vector<reading::Issue> issues;
  const auto say = [&](const reading::NamedFile& file, reading::Severity severity, const std::string& what) {
    issues.push_back({.severity = severity,
                      .file = config,
                      .at = file.at,
                      .message = fmt::format("{}: {} {}", file.option, file.path, what),
                      .suggestion = {}});
  };
  const auto named = [&](const std::string& option) {
    const auto found = std::ranges::find(files, option, &reading::NamedFile::option);
    return found == files.end() ? std::string() : found->path;
  };
  for (const reading::NamedFile& file : files) {
    if (file.option.ends_with(".key")) {
      const std::string beside = file.option.substr(0, file.option.size() - 3) + "cert";
      if (const auto fit = http::look_at_key(file.path, named(beside)); !fit) {
        say(file, reading::Severity::error, fit.error().detail);
      }
      continue;
    }
    const auto facts =
        file.option.ends_with(".cert") ? http::look_at_certificate(file.path) : http::look_at_authorities(file.path);
    if (!facts) {
      say(file, reading::Severity::error, facts.error().detail);
    } else if (facts->until <= now) {
      say(file, reading::Severity::warning, fmt::format("has expired, so the other side refuses it ({})", facts->text));
    } else if (facts->until < now + expiry_notice) {
      const auto days = std::chrono::floor<std::chrono::days>(facts->until - now).count();
      say(file, reading::Severity::warning, fmt::format("expires in {} days ({})", days, facts->text));
    }
  }
  return issues;
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  // Reading a folder throws, and a pipe may never end.
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return fail(Code::invalid, "it is not a regular file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(Code::invalid, std::strerror(errno));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<webhook::Provider> load_provider_file(const std::string& name, const std::string& folder) {
  std::string file = folder + "/" + name + ".toml";
  Result<std::string> text = folder.empty() ? fail(Code::invalid, {}) : read_file(file);
  if (!text) {
    const auto files = webhook::builtin_providers();
    const auto found = std::ranges::find(files, name, &webhook::ProviderFile::name);
    if (found == files.end()) {
      std::vector<std::string_view> names;
      for (const webhook::ProviderFile& each : files) names.push_back(each.name);
      const auto meant = reading::nearest(name, names);
      fmt::print(stderr, "semel: there is no provider \"{}\"{}; `semel providers` lists them\n", name,
                 meant ? fmt::format(" (did you mean \"{}\"?)", *meant) : "");
      return std::nullopt;
    }
    file = name + ".toml";
    text = std::string(found->text);
  }
  auto loaded = webhook::parse_provider(*text, name, file);
  for (const reading::Issue& issue : loaded ? loaded->warnings : loaded.error())
    fmt::print(stderr, "{}\n", reading::to_text(issue));
  if (!loaded) return std::nullopt;
  return std::move(loaded->provider);
}

std::shared_ptr<const config::Config> load_config(const std::string& path, Secrets secrets) {
  const Result<std::string> text = read_file(path);
  if (!text) {
    fmt::print(stderr, "semel: cannot read {}: {}\n", path, text.error().detail);
    return nullptr;
  }
  const SystemResolver resolver(path, secrets);
  auto loaded = config::parse_config(*text, path, resolver);
  if (!loaded) {
    for (const reading::Issue& issue : loaded.error()) fmt::print(stderr, "{}\n", reading::to_text(issue));
    return nullptr;
  }
  for (const reading::Issue& warning : loaded->warnings) fmt::print(stderr, "{}\n", reading::to_text(warning));
  if (secrets == Secrets::needed) {
    bool fit = true;
    for (const reading::Issue& issue : look_at_files(path, loaded->files, make_system_clock()->wall())) {
      fmt::print(stderr, "{}\n", reading::to_text(issue));
      if (issue.severity == reading::Severity::error) fit = false;
    }
    if (!fit) return nullptr;
  }
  return std::make_shared<const config::Config>(std::move(loaded->config));
}

std::string unsupported(const config::Config& config) {
  if (!has_store(config.store.kind)) {
    return "store.url: this kind of store is planned, but not in this version";
  }
  if (!config.outboxes.empty() && !has_store(config::StoreKind::postgres)) {
    return "[[outbox]] needs PostgreSQL, which this build was made without (SEMEL_POSTGRES)";
  }
  if (!config.audits.empty() && is_redis(config.store.kind)) {
    return "[[audit]] needs the embedded store or PostgreSQL: on Redis there is nowhere to keep what it finds";
  }
  if (!config.resolvers.empty() && is_redis(config.store.kind)) {
    return "[[resolver]] needs the embedded store or PostgreSQL: on Redis there is no history to note keys in";
  }
  return {};
}

}  // namespace semel::cli
