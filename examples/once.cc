// A charge that is requested twice and made once: once() on the embedded store.
//
// Run it again: the answer of the first run is still in the folder, and is replayed.
#include <exception>
#include <iostream>
#include <memory>
#include <random>
#include <utility>
#include <variant>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <semel/once.h>
#include <semel/stores.h>

namespace {

// The action must not happen twice. `keep` says that it took effect and that its answer is to be remembered.
semel::Task<semel::Outcome> charge(semel::Fence fence) {
  std::cout << "charging the card, attempt " << fence.number << "\n";
  const semel::Response response{
      .status = 201, .fields = {{"Content-Type", "text/plain"}}, .body = "charged 10 EUR", .body_kept = true};
  co_return semel::Outcome{.verdict = semel::Verdict::keep,
                           .response = std::make_shared<const semel::Response>(response)};
}

semel::Task<semel::Answer> pay(semel::Once& once, semel::Key key) {
  const semel::Request request{.method = "POST", .target = "/payments", .body = R"({"amount": 10})"};
  const semel::Fingerprint fingerprint = semel::fingerprint(request, semel::BodyForm::json);
  const semel::Policy policy;  // the key lives for a day; a caller that comes while the action runs is told to retry
  semel::Action action = charge;
  co_return co_await once.run(std::move(key), fingerprint, policy, std::move(action));
}

void print(const semel::Answer& answer) {
  if (const auto* ran = std::get_if<semel::Ran>(&answer)) {
    std::cout << "ran: " << ran->outcome.response->body << "\n";
  } else if (const auto* replayed = std::get_if<semel::Replayed>(&answer)) {
    std::cout << "replayed: " << replayed->response->body << "\n";
  } else {
    std::cout << "refused: " << std::get<semel::Refused>(answer).problem.slug() << "\n";
  }
}

}  // namespace

int main(int count, char** arguments) {
  boost::asio::io_context context(1);
  const auto clock = semel::make_system_clock();
  const auto opened = semel::open_embedded_store(*clock, {.path = count > 1 ? arguments[1] : "semel-data"});
  // The scope (here the customer) is part of the key: another customer's "order-1234" is another key.
  const auto key = semel::make_key("payments", "customer-7", "order-1234");
  if (!opened || !key) {
    std::cerr << (opened ? key.error() : opened.error()).detail << "\n";
    return 1;
  }
  semel::Once once(*opened->store, *clock, std::random_device()());

  for (int i = 0; i < 2; ++i) {
    auto done = [](const std::exception_ptr& error, const semel::Answer& answer) {
      if (error) std::rethrow_exception(error);
      print(answer);
    };
    boost::asio::co_spawn(context, pay(once, *key), done);
    context.run();
    context.restart();
  }
}
