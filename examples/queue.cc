// A queue consumer on plain threads. The queue delivers at least once; each message takes effect once.
#include <atomic>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <semel/blocking_once.h>
#include <semel/clock.h>
#include <semel/stores.h>

namespace {

struct Message {
  std::string id;
  std::string body;
};

enum class Ack { done, again };

// The acknowledgement for the queue. A message that failed, or that another consumer has right now, comes again later.
Ack consume(semel::BlockingOnce& once, const Message& message, std::atomic<int>& sent) {
  const auto key = semel::make_key("mails", "", message.id);
  if (!key) return Ack::done;  // an id that cannot be a key: put it where people look at bad messages
  const semel::Fingerprint fingerprint =
      semel::fingerprint({.method = {}, .target = {}, .body = message.body}, semel::BodyForm::raw);
  // If a consumer dies, nobody knows how far it came: the next one tries.
  const semel::Policy policy{.on_unknown = semel::Policy::OnUnknown::retry};
  const semel::Answer answer = once.run(*key, fingerprint, policy, [&](semel::Fence) {
    if (message.body == "poison") return semel::Outcome::kept({.status = 422, .fields = {}, .body = "cannot be read"});
    const bool full = message.body == "flaky" && sent < 2;
    if (full) return semel::Outcome::released({.status = 503, .fields = {}, .body = "no room"});
    ++sent;
    return semel::Outcome::kept({.status = 200, .fields = {}, .body = "sent"});
  });
  if (const auto* ran = std::get_if<semel::Ran>(&answer)) {
    return ran->outcome.verdict == semel::Verdict::keep ? Ack::done : Ack::again;
  }
  return std::holds_alternative<semel::Replayed>(answer) ? Ack::done : Ack::again;
}

}  // namespace

int main(int count, char** arguments) {
  const auto clock = semel::make_system_clock();
  const auto opened = semel::open_embedded_store(*clock, {.path = count > 1 ? arguments[1] : "semel-data"});
  if (!opened) return std::cerr << opened.error().detail << "\n", 1;
  semel::BlockingOnce once(*opened->store, *clock, std::random_device()());

  // The ids are new in every run of this example, so that it shows the same each time.
  const std::string run = std::to_string(std::random_device()());
  std::atomic<int> sent = 0;
  std::vector<Message> queue;
  for (const char* body : {"hello", "world", "flaky", "poison"}) queue.push_back({run + body, body});
  std::vector<std::jthread> consumers;
  for (int i = 0; i < 4; ++i) {
    consumers.emplace_back([&] {
      for (const Message& message : queue) {  // every consumer gets every message: four deliveries of each
        while (consume(once, message, sent) == Ack::again) std::this_thread::yield();
      }
    });
  }
  consumers.clear();
  std::cout << queue.size() << " messages, delivered four times each, " << sent << " mails sent\n";
}
