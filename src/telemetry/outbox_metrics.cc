// Names and help texts are an interface, as in metrics.cc.
#include "telemetry/outbox_metrics.h"

#include <atomic>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "telemetry/exposition.h"

namespace semel::telemetry {
namespace {

using Outboxes = std::vector<std::shared_ptr<const OutboxMetrics>>;

template <class Value>
void family(std::string& out, std::string_view name, std::string_view type, std::string_view help,
            const Outboxes& outboxes, Value value) {
  heading(out, name, type, help);
  for (const auto& each : outboxes) {
    fmt::format_to(std::back_inserter(out), "{}{{outbox=\"{}\"}} {}\n", name, label_text(each->view().name),
                   value(*each));
  }
}

void render_dead(std::string& out, const Outboxes& outboxes) {
  heading(out, "semel_outbox_dead_total", "counter",
          "Rows that were dead at once: their key was used for another effect, or they cannot be delivered.");
  for (const auto& each : outboxes) {
    const std::string outbox = label_text(each->view().name);
    fmt::format_to(std::back_inserter(out), "semel_outbox_dead_total{{outbox=\"{}\",why=\"key-reused\"}} {}\n", outbox,
                   each->key_reused.load(std::memory_order_relaxed));
    fmt::format_to(std::back_inserter(out), "semel_outbox_dead_total{{outbox=\"{}\",why=\"undeliverable\"}} {}\n",
                   outbox, each->undeliverable.load(std::memory_order_relaxed));
  }
}

}  // namespace

std::string_view name(OutboxStanding standing) {
  switch (standing) {
    case OutboxStanding::starting:
      return "starting";
    case OutboxStanding::moving:
      return "moving";
    case OutboxStanding::standby:
      return "standby";
    case OutboxStanding::failing:
      break;
  }
  return "failing";
}

void OutboxMetrics::stands(OutboxStanding standing) {
  const std::scoped_lock lock(mutex_);
  view_.standing = standing;
}

void OutboxMetrics::fails(const std::string& trouble) {
  failures.fetch_add(1, std::memory_order_relaxed);
  const std::scoped_lock lock(mutex_);
  view_.standing = OutboxStanding::failing;
  view_.trouble = trouble;
}

void OutboxMetrics::sees(std::uint64_t waiting, std::uint64_t oldest_ms) {
  const std::scoped_lock lock(mutex_);
  view_.waiting = waiting;
  view_.oldest_ms = oldest_ms;
}

void OutboxMetrics::turned(bool blocked) {
  const std::scoped_lock lock(mutex_);
  view_.turns_blocked = blocked ? view_.turns_blocked + 1 : 0;
}

OutboxMetrics::View OutboxMetrics::view() const {
  const std::scoped_lock lock(mutex_);
  return view_;
}

void render_outboxes(std::string& out, const Outboxes& outboxes) {
  if (outboxes.empty()) return;
  const auto count = [](const std::atomic<std::uint64_t>& number) { return number.load(std::memory_order_relaxed); };
  family(out, "semel_outbox_moved_total", "counter", "Rows that were moved to the inbox.", outboxes,
         [&](const OutboxMetrics& each) { return count(each.moved); });
  family(out, "semel_outbox_repeated_total", "counter",
         "Rows that were moved before under the same key: asked for again.", outboxes,
         [&](const OutboxMetrics& each) { return count(each.repeated); });
  render_dead(out, outboxes);
  family(out, "semel_outbox_failures_total", "counter",
         "Times that the mover could not go on: its database or the store did not work, or the inbox was full.",
         outboxes, [&](const OutboxMetrics& each) { return count(each.failures); });
  family(out, "semel_outbox_moving", "gauge", "1 if this process has the lease and moves; of all gateways one does.",
         outboxes, [](const OutboxMetrics& each) { return each.view().standing == OutboxStanding::moving ? 1 : 0; });
  family(out, "semel_outbox_waiting", "gauge", "About how many rows wait to be moved, as the mover last saw it.",
         outboxes, [](const OutboxMetrics& each) { return each.view().waiting; });
  family(out, "semel_outbox_oldest_seconds", "gauge",
         "How long ago the oldest row was sent that waits to be moved; 0 if none.", outboxes,
         [](const OutboxMetrics& each) {
           return fmt::format("{:.3f}", static_cast<double>(each.view().oldest_ms) / 1e3);
         });
  family(out, "semel_outbox_turns_blocked", "gauge",
         "How often in a row a table could not be truncated because an open transaction had used it.", outboxes,
         [](const OutboxMetrics& each) { return each.view().turns_blocked; });
}

}  // namespace semel::telemetry
