#include "admin/key_json.h"

#include <optional>

#include "admin/redact.h"
#include "admin/suggested.h"
#include "core/json/writer.h"
#include "resolver/suggestion.h"
#include <semel/clock.h>
#include <semel/response.h>
#include <semel/store.h>

namespace semel::admin {

void write_key(core::json::JsonWriter& json, const Held& held) {
  write_key(json, held, std::nullopt);
}

void write_key(core::json::JsonWriter& json, const Held& held, const std::optional<resolver::Suggestion>& suggestion) {
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
      json.begin_object().bytes("name", field.name).bytes("value", shown_value(field)).end_object();
    }
    json.end_array().number("body_bytes", response.body.size()).boolean("body_kept", response.body_kept).end_object();
  }
  if (suggestion) write_suggestion(json, *suggestion);
  json.end_object();
}

}  // namespace semel::admin
