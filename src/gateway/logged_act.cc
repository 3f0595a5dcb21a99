#include "gateway/logged_act.h"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "core/json/writer.h"
#include "core/seal.h"
#include "gateway/act_note.h"
#include "store/audit_log.h"
#include "store/identity.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::gateway {
namespace {

std::string outcome_text(std::uint64_t of, std::string_view outcome, Time at) {
  std::string text;
  core::json::JsonWriter(text)
      .begin_object()
      .text("at", time_text(at))
      .number("of", of)
      .bytes("outcome", outcome)
      .end_object();
  return text;
}

}  // namespace

std::string time_text(Time at) {
  const auto second = std::chrono::floor<std::chrono::seconds>(at);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(second), (at - second).count());
}

std::string_view state_name(Record::State state) {
  switch (state) {
    case Record::State::running:
      return "running";
    case Record::State::done:
      return "done";
    case Record::State::unknown:
      return "unknown";
    default:
      return "released";
  }
}

std::uint64_t random_act() {
  const core::Salt salt = store::random_salt();
  std::uint64_t number = 0;
  std::memcpy(&number, salt.data(), sizeof(number));
  return number;
}

std::string entry_text(const LoggedAct& act, const Held& before, std::uint64_t number, Time at) {
  const Record& record = before.record;
  std::string text;
  core::json::JsonWriter json(text);
  json.begin_object().text("at", time_text(at)).bytes("act", act.what).hex("id", record.key.id);
  json.bytes("namespace", record.key.space).number("fence", record.fence.number);
  json.text("before", state_name(record.state)).text("role", act.actor.role);
  json.bytes("who", act.actor.name).text("known_by", act.actor.known_by).bytes("from", act.actor.from);
  json.bytes("reason", act.reason);
  json.text("token", std::to_string(number)).end_object();
  return text;
}

Task<ActEnd> settle_logged(const ActBooks* books, Held before, LoggedAct act) {
  std::string text = entry_text(act, before, act.settlement.act, books->now());
  Result<store::AuditEntry> logged = co_await books->audit.append(std::move(text));
  if (!logged) co_return ActEnd{.logged = std::unexpected(logged.error()), .settled = std::unexpected(logged.error())};
  Result<void> settled = co_await books->desk.settle(before.record.key.id, act.settlement);
  co_await books->forget(before.record.key);
  const bool open = !settled && settled.error().code != Code::fenced;
  const std::string outcome = settled ? "applied" : open ? "not known" : "not applied: " + settled.error().detail;
  std::string second = outcome_text(logged->number, outcome, books->now());
  // The act has been decided; an outcome that cannot be written can be seen at the key.
  static_cast<void>(co_await books->audit.append(std::move(second)));
  ActNote note{.act = act.what,
               .who = act.actor.name,
               .role = act.actor.role,
               .reason = act.reason,
               .audit = logged->number,
               .fence = before.record.fence.number};
  if (settled) co_await note_act(books->history, before.record.key.id, std::move(note), books->now());
  co_return ActEnd{.logged = logged->number, .settled = std::move(settled)};
}

}  // namespace semel::gateway
