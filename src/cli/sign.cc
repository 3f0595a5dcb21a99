// `semel sign`: a delivery as a provider would send it, printed or sent.
#include "webhook/sign.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/deliver.h"
#include "cli/load.h"
#include "cli/process.h"
#include "http/tls.h"
#include "reading/address.h"
#include <semel/clock.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::cli {
namespace {

struct SignArguments {
  std::string provider;
  std::string secret;
  std::string body;
  std::string body_file;
  std::string id;
  std::string url = "http://127.0.0.1:8080/";
  std::string public_url;
  std::string content_type = "application/json";
  std::string folder;
  std::vector<std::string> headers;
  std::int64_t age_seconds = 0;
  std::string ca;
  bool insecure = false;
  bool curl = false;
  bool send = false;
  std::uint32_t times = 1;
  std::uint32_t parallel = 1;
};

// env:NAME and file:PATH as in the configuration.
Result<std::string> read_secret_text(const std::string& text) {
  if (text.starts_with("env:")) {
    const char* value = std::getenv(text.c_str() + 4);
    if (value == nullptr)
      return fail(Code::invalid, fmt::format("the environment has no variable \"{}\"", text.substr(4)));
    return std::string(value);
  }
  if (!text.starts_with("file:")) return text;
  auto content = read_file(text.substr(5));
  if (!content) return fail(Code::invalid, fmt::format("{}: {}", text.substr(5), content.error().detail));
  if (content->ends_with('\n') && content->find("-----") == std::string::npos) content->pop_back();
  return *std::move(content);
}

Result<std::string> read_body(const SignArguments& given) {
  if (given.body_file.empty()) return given.body;
  if (given.body_file == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  return read_file(given.body_file);
}

int complain(const std::string& what) {
  fmt::print(stderr, "semel sign: {}\n", what);
  return 2;
}

void print(const webhook::SignedDelivery& delivery) {
  fmt::print("{} {}\n", delivery.method, delivery.target);
  for (const Field& field : delivery.fields) fmt::print("{}: {}\n", field.name, field.value);
  // A program gets the bytes that were signed, a person an end of the line.
  const bool open_line = isatty(STDOUT_FILENO) == 1 && !delivery.body.ends_with('\n');
  fmt::print("\n{}{}", delivery.body, open_line ? "\n" : "");
}

int send(const webhook::SignedDelivery& delivery, const DeliverOptions& options, Clock& clock) {
  raise_file_limit();
  std::map<std::uint16_t, std::uint32_t> counts;
  const Delivered delivered = deliver(delivery, options, clock);
  for (const std::uint16_t status : delivered.statuses) ++counts[status];
  for (const auto& [status, count] : counts) {
    fmt::print("{} x {}\n", count, status == 0 ? std::string("no answer") : std::to_string(status));
  }
  if (!delivered.trouble.empty()) {
    fmt::print(stderr, "semel sign: {}\n", delivered.trouble);
  } else if (counts.contains(0)) {
    fmt::print(stderr, "semel sign: {} does not answer; is anything listening there?\n",
               reading::url_text({.secure = options.url.secure, .authority = options.url.authority, .path = {}}));
  }
  if (!delivered.body.empty()) fmt::print("{}{}", delivered.body, delivered.body.ends_with('\n') ? "" : "\n");
  const bool fine = std::ranges::all_of(counts, [](const auto& each) { return each.first >= 200 && each.first < 300; });
  return fine ? 0 : 1;
}

int send_as_told(const SignArguments& given, const webhook::SignedDelivery& delivery, const reading::Url& url,
                 Clock& clock) {
  DeliverOptions options{.url = url, .times = given.times, .parallel = given.parallel};
  if (url.secure) {
    auto tls = http::TlsContext::for_client({.ca_file = given.ca,
                                             .cert_file = {},
                                             .key_file = {},
                                             .verify = given.insecure ? http::Verify::nothing : http::Verify::peer});
    if (!tls) return complain(tls.error().detail);
    options.tls = *std::move(tls);
  }
  return send(delivery, options, clock);
}

// In single quotes, for a shell.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out.append(c == '\'' ? "'\\''" : std::string(1, c));
  return out + "'";
}

void print_curl(const webhook::SignedDelivery& delivery, const std::string& url) {
  fmt::print("curl -X {} {}", delivery.method, in_quotes(url));
  for (const Field& field : delivery.fields) fmt::print(" \\\n  -H {}", in_quotes(field.name + ": " + field.value));
  fmt::print(" \\\n  --data-binary {}\n", in_quotes(delivery.body));
}

int sign(const SignArguments& given) {
  const auto provider = load_provider_file(given.provider, given.folder);
  if (!provider) return 2;
  const std::size_t query = std::min(given.url.find('?'), given.url.size());
  const auto url = reading::parse_url(given.url.substr(0, query));
  if (!url) return complain("the URL: " + url.error().message);
  auto secret = read_secret_text(given.secret);
  if (!secret) return complain("the secret cannot be read: " + secret.error().detail);
  auto body = read_body(given);
  if (!body) return complain("the body cannot be read: " + body.error().detail);
  const std::unique_ptr<Clock> clock = make_system_clock();
  webhook::SignOrder order{.secret = *std::move(secret),
                           .id = given.id.empty() ? fmt::format("semel-{:016x}", random_seed()) : given.id,
                           .public_url = given.public_url,
                           .target = (url->path.empty() ? "/" : url->path) + given.url.substr(query),
                           .content_type = given.content_type,
                           .body = *std::move(body),
                           .fields = {},
                           .now = clock->wall() - std::chrono::seconds(given.age_seconds)};
  if (order.public_url.empty())
    order.public_url = reading::url_text({.secure = url->secure, .authority = url->authority, .path = {}});
  for (const std::string& header : given.headers) {
    const std::size_t colon = header.find(": ");
    if (colon == std::string::npos) return complain("a header is \"Name: value\"");
    order.fields.push_back({.name = header.substr(0, colon), .value = header.substr(colon + 2)});
  }
  const Result<webhook::SignedDelivery> delivery = webhook::sign_delivery(*provider, order);
  if (!delivery) return complain(delivery.error().detail);
  if (given.send) return send_as_told(given, *delivery, *url, *clock);
  if (given.curl) {
    print_curl(*delivery, given.url);
  } else {
    print(*delivery);
  }
  return 0;
}

}  // namespace

void add_sign(CLI::App& app, Command& run) {
  auto given = std::make_shared<SignArguments>();
  CLI::App* command =
      app.add_subcommand("sign", "Make a delivery as a webhook provider would sign it; print or send it");
  command->add_option("provider", given->provider, "Its name; `semel providers` lists them")->required();
  command
      ->add_option("--secret", given->secret,
                   "The secret, env:NAME or file:PATH; a private key (PEM) where the provider has a public one")
      ->required();
  command->add_option("--body", given->body, "The body");
  command->add_option("--body-file", given->body_file, "The body from a file; - is standard input");
  command->add_option("--url", given->url, "Where it goes; path and query are part of the delivery")
      ->capture_default_str();
  command->add_option("--public-url", given->public_url,
                      "The URL that the provider calls, where that is signed (by default --url)");
  command->add_option("--id", given->id, "For headers that name the event (by default a new one)");
  command->add_option("--header", given->headers, "\"Name: value\"; may be given several times")
      ->allow_extra_args(false);
  command->add_option("--content-type", given->content_type, "Of the body")->capture_default_str();
  command->add_option("--age", given->age_seconds, "Sign as of N seconds ago")->capture_default_str();
  command->add_option("--providers", given->folder, "A folder of provider files of your own");
  command->add_flag("--send", given->send,
                    "Send it, and print the statuses and the last answer's body; exit 0 if all are 2xx");
  command->add_flag("--curl", given->curl, "Print it as a command for curl")->excludes("--send");
  command->add_option("--ca", given->ca, "For https://: the authority that is trusted (PEM), instead of the machine's");
  command->add_flag("--insecure", given->insecure, "For https://: trust any certificate");
  command->add_option("--times", given->times, "How often to send it")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  command->add_option("--parallel", given->parallel, "How many at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000));
  command->callback([given, &run] { run = [given] { return sign(*given); }; });
}

}  // namespace semel::cli
