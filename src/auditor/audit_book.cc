// Each note is JSON, so that it can be read by people and by later versions.
#include "auditor/audit_book.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>

#include "auditor/blocking.h"
#include "auditor/finding.h"
#include "core/json/writer.h"
#include "store/notes.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::auditor {
namespace {

namespace json = boost::json;

constexpr std::string_view run_prefix = "audit-run/";
constexpr std::string_view finding_prefix = "audit-finding/";
constexpr int rounds_max = 20;  // of a note that others change, too

std::string run_name(const std::string& audit) {
  return std::string(run_prefix).append(audit);
}
std::string finding_name(const std::string& id) {
  return std::string(finding_prefix).append(id);
}

bool takes(const FindingFilter& filter, const AuditFinding& finding) {
  return (!filter.audit || *filter.audit == finding.audit) && (!filter.state || *filter.state == finding.state) &&
         (!filter.kind || *filter.kind == finding.kind);
}

class StatusReader {
 public:
  explicit StatusReader(std::string_view text) {
    boost::system::error_code error;
    value_ = json::parse(text, error);
  }
  [[nodiscard]] std::int64_t number(std::string_view member) const {
    const json::value* const found = find(member);
    boost::system::error_code error;
    if (found == nullptr || !found->is_number()) return 0;
    const auto number = found->to_number<std::int64_t>(error);
    return error ? 0 : number;
  }
  [[nodiscard]] Time time(std::string_view member) const { return Time{Millis{number(member)}}; }
  [[nodiscard]] std::string text(std::string_view member) const {
    const json::value* const found = find(member);
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
  }
  [[nodiscard]] bool flag(std::string_view member) const {
    const json::value* const found = find(member);
    return found != nullptr && found->is_bool() && found->get_bool();
  }
  [[nodiscard]] const json::value* find(std::string_view member) const {
    return value_.is_object() ? value_.get_object().if_contains(member) : nullptr;
  }

 private:
  json::value value_;
};

std::int64_t millis(Time at) {
  return at.time_since_epoch().count();
}

}  // namespace

std::string status_json(const AuditStatus& status) {
  std::string text;
  core::json::JsonWriter out(text);
  out.begin_object();
  if (status.progress.judged_to) out.number("judged_to", millis(*status.progress.judged_to));
  out.number("wide_at", millis(status.progress.wide_at)).number("wide_took", status.progress.wide_took.count());
  out.bytes("holder", status.holder).number("held_until", millis(status.held_until));
  out.number("since", millis(status.since)).number("begun", millis(status.begun)).number("ended", millis(status.ended));
  out.number("judged", millis(status.judged)).boolean("blind", status.blind).text("trouble", status.trouble);
  out.number("effects", status.effects).number("keys", status.keys).number("took_ms", status.took_ms);
  out.number("lag_ms", status.lag_ms).name("suspects").begin_array();
  for (const std::uint64_t count : status.suspects) out.number(count);
  out.end_array().end_object();
  return text;
}

// What cannot be read is as at the beginning: the next window is a wide one.
AuditStatus status_from(std::string_view text) {
  const StatusReader in(text);
  AuditStatus status;
  if (in.find("judged_to") != nullptr) status.progress.judged_to = in.time("judged_to");
  status.progress.wide_at = in.time("wide_at");
  status.progress.wide_took = Millis{in.number("wide_took")};
  status.holder = in.text("holder");
  status.held_until = in.time("held_until");
  status.since = in.time("since");
  status.begun = in.time("begun");
  status.ended = in.time("ended");
  status.judged = in.time("judged");
  status.blind = in.flag("blind");
  status.trouble = in.text("trouble");
  status.effects = static_cast<std::uint64_t>(in.number("effects"));
  status.keys = static_cast<std::uint64_t>(in.number("keys"));
  status.took_ms = static_cast<std::uint64_t>(in.number("took_ms"));
  status.lag_ms = static_cast<std::uint64_t>(in.number("lag_ms"));
  const json::value* const suspects = in.find("suspects");
  if (suspects == nullptr || !suspects->is_array()) return status;
  const json::array& counts = suspects->get_array();
  for (std::size_t i = 0; i < std::min(counts.size(), status.suspects.size()); ++i) {
    if (counts[i].is_int64()) status.suspects.at(i) = static_cast<std::uint64_t>(counts[i].get_int64());
  }
  return status;
}

Result<KeptStatus> AuditBook::status(const std::string& audit) {
  const Result<std::optional<store::StoredNote>> found = wait_for(notes_.read(run_name(audit)));
  if (!found) return std::unexpected(found.error());
  const std::optional<store::StoredNote>& note = *found;
  if (!note) return KeptStatus{};
  return KeptStatus{.status = status_from(note->value), .version = note->version};
}

Result<void> AuditBook::write(const std::string& audit, KeptStatus& kept) {
  store::NoteChange change{.name = run_name(audit), .value = status_json(kept.status), .over = kept.version};
  const Result<std::uint64_t> written = wait_for(notes_.write(std::move(change)));
  if (!written) return std::unexpected(written.error());
  kept.version = *written;
  return {};
}

Result<std::optional<AuditFinding>> AuditBook::find(const std::string& id) {
  const Result<std::optional<store::StoredNote>> found = wait_for(notes_.read(finding_name(id)));
  if (!found) return std::unexpected(found.error());
  const std::optional<store::StoredNote>& note = *found;
  if (!note) return std::nullopt;
  Result<AuditFinding> finding = finding_from(note->value);
  if (!finding) return std::unexpected(std::move(finding.error()));
  return *std::move(finding);
}

Result<std::vector<AuditFinding>> AuditBook::list(const FindingFilter& filter, std::size_t limit) {
  std::vector<AuditFinding> found;
  std::string cursor;
  do {
    Result<store::NotePage> page = wait_for(notes_.list(std::string(finding_prefix), cursor, store::notes_listed_max));
    if (!page) return std::unexpected(std::move(page.error()));
    for (const store::StoredNote& note : page->items) {
      Result<AuditFinding> finding = finding_from(note.value);
      if (!finding || !takes(filter, *finding)) continue;
      if (found.size() >= limit) return found;
      found.push_back(*std::move(finding));
    }
    cursor = std::move(page->cursor);
  } while (!cursor.empty());
  return found;
}

Result<void> AuditBook::change(const std::string& id, const Change& change) {
  for (int round = 0; round < rounds_max; ++round) {
    const Result<std::optional<store::StoredNote>> found = wait_for(notes_.read(finding_name(id)));
    if (!found) return std::unexpected(found.error());
    const std::optional<store::StoredNote>& note = *found;
    std::optional<AuditFinding> kept;
    if (note) {
      Result<AuditFinding> finding = finding_from(note->value);
      if (!finding) return std::unexpected(std::move(finding.error()));
      kept = *std::move(finding);
    }
    const std::optional<AuditFinding> next = change(kept);
    if (!next) return {};
    store::NoteChange write{.name = finding_name(id), .value = finding_json(*next), .over = note ? note->version : 0};
    const Result<std::uint64_t> written = wait_for(notes_.write(std::move(write)));
    if (written) return {};
    if (written.error().code != Code::fenced) return std::unexpected(written.error());
  }
  return fail(Code::unavailable, "the finding is being changed by others all the time");
}

Result<void> AuditBook::drop(const std::string& id) {
  const Result<std::optional<store::StoredNote>> found = wait_for(notes_.read(finding_name(id)));
  if (!found) return std::unexpected(found.error());
  const std::optional<store::StoredNote>& note = *found;
  if (!note) return {};
  store::NoteChange change{.name = finding_name(id), .value = std::nullopt, .over = note->version};
  const Result<std::uint64_t> gone = wait_for(notes_.write(std::move(change)));
  if (!gone && gone.error().code != Code::fenced) return std::unexpected(gone.error());
  return {};
}

}  // namespace semel::auditor
