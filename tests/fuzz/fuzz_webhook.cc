// Fuzzes what strangers can reach of a webhook: signature headers, bodies and targets, for every provider, and the
// reader of providers' files.
//
// The first line is the text of the request: fields as `Name: value`, the first of them the target if it begins with a
// slash; behind an empty line is the body. Whatever comes, a delivery that nobody signed is not authentic, unless the
// secret itself stands in it. The whole input is read as a provider's file too; whatever can be read must be usable.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/check.h"
#include "policy/json_items.h"
#include "webhook/authenticate.h"
#include "webhook/event.h"
#include "webhook/event_batch.h"
#include "webhook/fetched_keys.h"
#include "webhook/handshake.h"
#include "webhook/provider.h"

namespace {

constexpr std::string_view secret = "whsec_bm90IGluIHRoZSBpbnB1dA==";

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + 1));
  return line;
}

void use(const semel::webhook::Provider& provider, const semel::policy::RequestView& request) {
  const std::vector<semel::reading::Secret> secrets{semel::reading::Secret(std::string(secret))};
  const semel::webhook::Lock lock =
      semel::webhook::make_lock(provider, secrets, "https://gw.example.com", std::nullopt);
  const semel::Time now{std::chrono::seconds(1'700'000'000)};
  const auto authentic = semel::webhook::authenticate(provider, lock, request, now);
  const bool open = std::ranges::any_of(provider.schemes, [](const semel::webhook::SignatureScheme& scheme) {
    return scheme.algorithm == semel::webhook::Algorithm::none || scheme.algorithm == semel::webhook::Algorithm::token;
  });
  semel::core::check(!authentic || open, "nobody signed this");
  const auto judged =
      semel::webhook::judge_delivery(provider, lock, request, now, [&](const std::string&) { return request.body; });
  semel::core::check(open || !std::holds_alternative<semel::webhook::Authentic>(judged),
                     "nobody signed this, whatever was fetched");
  const auto identified = semel::webhook::identify_event(provider, {.space = "webhook:/h", .key_from = nullptr},
                                                         {.scheme = 0, .signed_text = "t"}, request);
  if (const auto* identity = std::get_if<semel::policy::Identity>(&identified)) {
    semel::core::check(!identity->key_text.empty() && identity->key_text.size() <= semel::key_text_bytes_max,
                       "a key has a size");
  }
  (void)semel::webhook::describe_event(provider, request);
  for (const auto stage : {semel::webhook::Stage::before_signature, semel::webhook::Stage::after_signature}) {
    const auto answer = semel::webhook::answer_handshake(provider, lock, semel::reading::Secret("v"), request, stage);
    if (answer && answer->accepted) {
      semel::core::check(answer->response.body.size() < 4096, "an answer is short");
      semel::core::check(answer->response.body.find('<') == std::string::npos, "an answer is no page");
    }
  }
  if (provider.event.items) {
    const auto items = semel::policy::json_items(request.body, *provider.event.items, semel::webhook::batch_items_max);
    std::size_t bytes = 0;
    for (const std::string_view item : items.value_or(std::vector<std::string_view>{})) bytes += item.size();
    semel::core::check(bytes <= request.body.size(), "elements do not overlap");
  }
}

std::vector<semel::webhook::Provider> builtin() {
  std::vector<semel::webhook::Provider> providers;
  for (const semel::webhook::ProviderFile& file : semel::webhook::builtin_providers()) {
    auto loaded = semel::webhook::parse_provider(file.text, file.name, file.name);
    semel::core::check(loaded.has_value(), "what is compiled in can be read");
    providers.push_back(std::move(loaded->provider));
  }
  return providers;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  std::string_view text = input;
  std::vector<semel::FieldView> fields;
  semel::policy::RequestView request;
  request.method = "POST";
  semel::policy::set_target(request, "/hook");
  for (std::string_view line = take_line(text); !line.empty(); line = take_line(text)) {
    const std::size_t colon = std::min(line.find(": "), line.size());
    if (fields.empty() && line.starts_with('/')) semel::policy::set_target(request, line);
    fields.push_back({.name = line.substr(0, colon), .value = line.substr(std::min(line.size(), colon + 2))});
  }
  request.fields = fields;
  request.body = text;
  static const std::vector<semel::webhook::Provider> providers = builtin();
  for (const semel::webhook::Provider& provider : providers) use(provider, request);
  const auto own = semel::webhook::parse_provider(input, "own", "own.toml");
  if (own) {
    request.body = input;
    const std::vector<semel::reading::Secret> none;
    const semel::webhook::Lock lock = semel::webhook::make_lock(own->provider, none, "", std::nullopt);
    (void)semel::webhook::authenticate(own->provider, lock, request, semel::Time{});
    (void)semel::webhook::identify_event(own->provider, {.space = "webhook:/h", .key_from = nullptr},
                                         {.scheme = 0, .signed_text = "t"}, request);
    (void)semel::webhook::answer_handshake(own->provider, lock, semel::reading::Secret(), request,
                                           semel::webhook::Stage::after_signature);
  } else {
    semel::core::check(!own.error().empty(), "a file that cannot be used says why");
  }
  return 0;
}
