// Two moments: while the body is there, and when the answer has been sent.
#include "gateway/clue.h"

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <variant>

#include "core/ascii.h"
#include "gateway/incoming.h"
#include "gateway/job.h"
#include "gateway/told.h"
#include "policy/identify.h"
#include "policy/request_view.h"
#include "telemetry/doctor_note.h"
#include "telemetry/doctor_watch.h"
#include "telemetry/key_look.h"
#include "telemetry/member_prints.h"
#include "telemetry/metrics.h"
#include "telemetry/notebook.h"
#include "telemetry/tally.h"
#include <semel/clock.h>
#include <semel/response.h>

namespace semel::gateway {
namespace {

using telemetry::Ending;

// The highest byte first, so that its hexadecimal digits are those of the digest.
template <class Bytes>
std::uint64_t first_eight(const Bytes& digest) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(value); ++i) value = (value << 8U) | digest[i];
  return value;
}

// The last bytes of a digest are as good as the first, and the sample goes by the lowest bits.
telemetry::RequestTraits traits_of(const policy::Identity& identity) {
  return {.scope = first_eight(identity.key.scope),
          .key = first_eight(identity.key.id),
          .fingerprint = first_eight(identity.fingerprint.digest),
          .text = std::hash<std::string_view>()(identity.key_text)};
}

// Seconds; 0 if the client was not told to wait.
std::uint32_t retry_after_in(std::span<const Field> fields) {
  for (const Field& field : fields) {
    if (!core::equal_ignoring_case(field.name, "Retry-After")) continue;
    std::uint32_t seconds = 0;
    const char* const end = field.value.data() + field.value.size();
    const auto [at, error] = std::from_chars(field.value.data(), end, seconds);
    return error == std::errc() && at == end ? seconds : 0;
  }
  return 0;
}

std::uint32_t retry_after_in(const Told& told) {
  const auto* const own = std::get_if<OwnReply>(&told.reply);
  if (own == nullptr) return 0;
  return retry_after_in(own->stored != nullptr ? own->stored->fields : own->response.fields);
}

}  // namespace

std::unique_ptr<telemetry::Clue> clue_of(const Incoming& incoming, const policy::Identity& identity,
                                         const policy::RequestView& request, bool odd) {
  using Interest = telemetry::DoctorWatch::Interest;
  const telemetry::DoctorWatch& watch = incoming.services.books.watch;
  const telemetry::RequestTraits traits = traits_of(identity);
  const Interest interest = watch.interest_in(traits);
  if (interest == Interest::none && !odd) return nullptr;
  // Replays of hot keys come by the ten thousand in a second. What would find no room is not read out of its body
  // first.
  telemetry::Notebook& notebook = incoming.services.books.notebook;
  if (notebook.notes.size() >= telemetry::Notebook::notes_max) {
    ++notebook.left_out;
    return nullptr;
  }
  auto clue = std::make_unique<telemetry::Clue>();
  clue->traits = traits;
  clue->by_request = odd || interest == Interest::by_request;
  clue->look = telemetry::look_at_key(identity.key_text, incoming.services.clock.wall());
  if (odd || watch.watched(traits.scope)) clue->members = telemetry::member_prints(request.body);
  return clue;
}

std::unique_ptr<telemetry::Clue> clue_of(const Incoming& incoming, const Job& job, const Told& told) {
  if (job.batch) return nullptr;
  const bool usual = told.ending == Ending::ran || told.ending == Ending::accepted;
  std::unique_ptr<telemetry::Clue> clue = clue_of(incoming, job.identity, job.request, !usual);
  if (clue != nullptr && job.webhook != nullptr) clue->source = telemetry::DoctorNote::Source::webhook;
  return clue;
}

void take_note(const Incoming& incoming, const telemetry::RouteMetrics& route, const Told& told) {
  const telemetry::TallyOutcome outcome = telemetry::tally_outcome(told.ending, told.problem, told.would);
  const std::chrono::nanoseconds took = incoming.services.clock.stopwatch() - incoming.started;
  telemetry::Notebook& notebook = incoming.services.books.notebook;
  std::optional<std::uint64_t> scope;
  if (told.key) scope = first_eight(told.key->scope);
  notebook.tallies.add(route, outcome, scope, took);
  const std::uint16_t status = incoming.client.status_sent();
  if (scope && telemetry::is_odd(outcome, status)) incoming.services.books.watch.watch(*scope);
  if (told.clue == nullptr) return;
  const Time ended = incoming.services.clock.wall();
  const telemetry::Clue& clue = *told.clue;
  notebook.add({.route = &route,
                .traits = clue.traits,
                .at = ended - std::chrono::duration_cast<Millis>(took),
                .ended = ended,
                .outcome = outcome,
                .source = clue.source,
                .by_request = clue.by_request,
                .status = status,
                .retry_after = retry_after_in(told),
                .look = clue.look,
                .members = clue.members});
}

}  // namespace semel::gateway
