// What a webhook adds to a guarded request before its claim: signature, key and labels of a delivery of 1 KiB.
//
// The rule: at most 15 microseconds of CPU.
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/check.h"
#include "policy/request_view.h"
#include "reading/secret.h"
#include "webhook/authenticate.h"
#include "webhook/event.h"
#include "webhook/provider.h"
#include "webhook/sign.h"
#include <semel/clock.h>
#include <semel/response.h>

namespace {

using semel::Time;

constexpr Time now{std::chrono::seconds(1'700'000'000)};

semel::webhook::Provider provider_called(std::string_view name) {
  for (const semel::webhook::ProviderFile& file : semel::webhook::builtin_providers()) {
    if (file.name == name) return semel::webhook::parse_provider(file.text, file.name, file.name)->provider;
  }
  semel::core::check(false, "the provider is compiled in");
  return {};
}

void verify_and_identify(benchmark::State& state, std::string_view name) {
  const semel::webhook::Provider provider = provider_called(name);
  const std::string secret = "whsec_Z29sZGVuLXN0YW5kYXJkLXdlYmhvb2tzLTI0YitrZXk=";
  const std::vector<semel::reading::Secret> secrets{semel::reading::Secret(secret)};
  const semel::webhook::Lock lock =
      semel::webhook::make_lock(provider, secrets, "https://gw.example.com", std::nullopt);
  const std::string body = R"({"id":"evt_1","type":"invoice.paid","created":1700000000,"data":{"object":{"id":"in_1",)"
                           R"("note":")" +
                           std::string(900, 'x') + "\"}}}";
  const auto delivery =
      semel::webhook::sign_delivery(provider, {.secret = secret, .id = "msg_1", .body = body, .now = now});
  semel::core::check(delivery.has_value(), "the delivery is signed");
  std::vector<semel::FieldView> fields;
  for (const semel::Field& field : delivery->fields) fields.push_back({.name = field.name, .value = field.value});
  semel::policy::RequestView request;
  request.method = "POST";
  request.fields = fields;
  request.body = delivery->body;
  semel::policy::set_target(request, delivery->target);
  for (auto _ : state) {
    const auto authentic = semel::webhook::authenticate(provider, lock, request, now);
    semel::core::check(authentic.has_value(), "the delivery is authentic");
    const auto identified = semel::webhook::identify_event(provider, {.space = "webhook:/h", .key_from = nullptr},
                                                           proof_of(*authentic), request);
    semel::core::check(std::holds_alternative<semel::policy::Identity>(identified), "the event has a key");
    benchmark::DoNotOptimize(semel::webhook::describe_event(provider, request));
  }
}
BENCHMARK_CAPTURE(verify_and_identify, stripe, "stripe");
BENCHMARK_CAPTURE(verify_and_identify, standard_webhooks, "standard-webhooks");
BENCHMARK_CAPTURE(verify_and_identify, github, "github");

}  // namespace

BENCHMARK_MAIN();
