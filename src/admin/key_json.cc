#include "admin/key_json.h"

#include <chrono>
#include <string>
#include <string_view>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "core/json/writer.h"
#include <semel/clock.h>
#include <semel/response.h>
#include <semel/store.h>

namespace semel::admin {

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

void write_key(core::json::JsonWriter& json, const Held& held) {
  const Record& record = held.record;
  json.begin_object().hex("id", record.key.id).text("state", state_name(record.state));
  json.number("fence", record.fence.number).bytes("namespace", record.key.space).hex("scope", record.key.scope);
  json.text("claimed_at", time_text(record.claimed_at)).text("expires_at", time_text(record.expires_at));
  json.number("expires_in_ms", held.left.count()).hex("fingerprint", record.fingerprint.digest);
  if (record.state == Record::State::running) json.number("lease_left_ms", held.lease_left.count());
  if (record.state == Record::State::unknown) json.text("lease_until", time_text(record.lease_until));
  if (record.response != nullptr) {
    const Response& response = *record.response;
    json.name("response").begin_object().number("status", response.status).name("fields").begin_array();
    for (const Field& field : response.fields) {
      json.begin_object().bytes("name", field.name).bytes("value", field.value).end_object();
    }
    json.end_array().number("body_bytes", response.body.size()).boolean("body_kept", response.body_kept).end_object();
  }
  json.end_object();
}

}  // namespace semel::admin
