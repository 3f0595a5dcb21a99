// A handler of Stripe's webhooks on cpp-httplib, with the embedded store: each event is processed once.
//
//   example_webhook semel-data 8080 whsec_…       then let Stripe (or `semel sign stripe … --send`) POST to /webhooks
//
// Stripe sends an event again when an answer was late or lost. A duplicate of an event that is being processed gets 409
// and comes again. One that has been processed gets the first answer. GET /effects counts the processed events.
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

#include <semel/blocking_once.h>
#include <semel/clock.h>
#include <semel/httplib.h>
#include <semel/stores.h>
#include <semel/webhook.h>

int main(int count, char** arguments) {
  if (count < 4) return std::cerr << "example_webhook FOLDER PORT SECRET\n", 2;
  const auto clock = semel::make_system_clock();
  const auto opened = semel::open_embedded_store(*clock, {.path = arguments[1]});
  const auto stripe = semel::WebhookVerifier::make("stripe", {arguments[3]}, *clock);
  if (!opened || !stripe) {
    std::cerr << (opened ? stripe.error() : opened.error()).detail << "\n";
    return 1;
  }
  semel::Guard::Rules rules;
  rules.webhook = *stripe;
  // Stripe repeats for three days.
  rules.policy = {.ttl = std::chrono::days(7), .on_unknown = semel::Policy::OnUnknown::retry};
  const auto guard = semel::Guard::make(rules);
  if (!guard) return std::cerr << guard.error().detail << "\n", 1;

  semel::BlockingOnce once(*opened->store, *clock, std::random_device()());
  std::atomic<int> processed = 0;
  httplib::Server server;
  server.Post("/webhooks", semel::guarded(*guard, once, [&](const httplib::Request&, httplib::Response& reply) {
                ++processed;  // the signature has been verified, and nobody else has this event
                reply.set_content("thank you", "text/plain");
              }));
  server.Get("/effects", [&](const httplib::Request&, httplib::Response& reply) {
    reply.set_content(R"({"effects":)" + std::to_string(processed) + "}", "application/json");
  });
  server.set_keep_alive_max_count(1'000'000);
  if (!server.bind_to_port("127.0.0.1", std::atoi(arguments[2]))) return std::cerr << "the port is taken\n", 1;
  std::cerr << "listening on " << arguments[2] << std::endl;
  server.listen_after_bind();
}
