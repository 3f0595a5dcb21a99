// The record of a job as bytes. Layout in inbox_codec.h.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "store/inbox.h"
#include "store/inbox_bytes.h"
#include "store/inbox_codec.h"
#include "store/inbox_desk.h"
#include "store/inbox_jobs.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::store {
namespace {

// A text that may be missing.
void write_choice(ByteSink& out, const std::optional<std::string>& choice) {
  out.small(choice ? 1 : 0);
  out.text(choice.value_or(""));
}

std::optional<std::string> read_choice(ByteSource& in) {
  const bool given = in.small() != 0;
  std::string text = in.text();
  return given ? std::optional(std::move(text)) : std::nullopt;
}

void write_scope(ByteSink& out, const JobScope& scope) {
  const DeliveryFilter& filter = scope.filter;
  out.small(static_cast<std::uint8_t>(scope.action));
  out.small(filter.state ? static_cast<std::uint8_t>(*filter.state) : 0);
  for (const auto* const choice : {&filter.source, &filter.to, &filter.type, &scope.why}) write_choice(out, *choice);
  out.small(filter.object ? 1 : 0);
  const ScopeDigest object = filter.object.value_or(ScopeDigest{});
  out.raw(view_of(object));
  for (const std::optional<Time>& at : {filter.from, filter.until}) {
    out.small(at ? 1 : 0);
    out.time(at.value_or(Time{}));
  }
}

JobScope read_scope(ByteSource& in) {
  JobScope scope;
  DeliveryFilter& filter = scope.filter;
  scope.action = static_cast<JobAction>(in.small());
  if (const std::uint8_t state = in.small(); state != 0) filter.state = static_cast<DeliveryState>(state);
  for (auto* const choice : {&filter.source, &filter.to, &filter.type, &scope.why}) *choice = read_choice(in);
  const bool of_object = in.small() != 0;
  ScopeDigest object{};
  in.fill(object);
  if (of_object) filter.object = object;
  for (auto* const at : {&filter.from, &filter.until}) {
    const bool given = in.small() != 0;
    const Time time = in.time();
    if (given) *at = time;
  }
  return scope;
}

}  // namespace

std::string encode_job(const InboxJob& job) {
  ByteSink out;
  out.number(job.number);
  out.small(static_cast<std::uint8_t>(job.state));
  write_scope(out, job.scope);
  out.number(job.rate);
  out.number(static_cast<std::uint64_t>(job.rate_per.count()));
  out.text(job.token);
  out.number(job.count);
  out.small(job.at_least ? 1 : 0);
  out.text(job.reason);
  out.text(job.who);
  for (const Time at : {job.planned_at, job.started_at, job.ended_at}) out.time(at);
  out.raw(job.searched.view());
  for (const std::uint64_t count : {job.taken, job.done, job.dead, job.other}) out.number(count);
  return out.finish();
}

Result<InboxJob> decode_job(std::string_view bytes) {
  ByteSource in(bytes);
  InboxJob job;
  job.number = in.number();
  job.state = static_cast<JobState>(in.small());
  job.scope = read_scope(in);
  job.rate = static_cast<std::uint32_t>(in.number());
  job.rate_per = Millis{static_cast<Millis::rep>(in.number())};
  job.token = in.text();
  job.count = in.number();
  job.at_least = in.small() != 0;
  job.reason = in.text();
  job.who = in.text();
  for (Time* const at : {&job.planned_at, &job.started_at, &job.ended_at}) *at = in.time();
  in.fill(job.searched.bytes);
  for (std::uint64_t* const count : {&job.taken, &job.done, &job.dead, &job.other}) *count = in.number();
  if (!in.whole()) return corrupt_value("record of a job");
  return job;
}

}  // namespace semel::store
