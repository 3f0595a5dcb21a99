// A run keeps nothing: what it found is its answer.
#include "auditor/window_run.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "auditor/comparison.h"
#include "auditor/effect_source.h"
#include "auditor/finding.h"
#include "auditor/key_look.h"
#include "auditor/window.h"
#include "config/audit.h"
#include "core/encoding.h"
#include "core/sha256.h"
#include "store/identity.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::auditor {
namespace {

constexpr std::uint32_t shares_max = 1'024;

// The id of the key that a row names; none if it names none.
std::optional<Digest> key_of(const EffectRow& row, const std::string& space) {
  if (!row.key || !row.scope) return std::nullopt;
  const Result<Key> key = make_key(space, *row.scope, *row.key);
  return key ? std::optional(key->id) : std::nullopt;
}

// A row without a key goes by itself.
Digest stand_in(const EffectRow& row) {
  return core::sha256_parts("semel keyless effect v1", {row.effect});
}

// A row as evidence. What is cut of its effect tells it from others all the same.
struct SeenRow {
  EvidenceRow row;
  Digest effect;  // a hash of the whole
};
using SeenRows = std::map<Digest, std::vector<SeenRow>>;

SeenRow seen(const EffectRow& row) {
  EvidenceRow evidence{.effect = evidence_text(row.effect), .at = row.at, .value = std::nullopt};
  if (row.value) evidence.value = evidence_text(*row.value);
  return {.row = std::move(evidence), .effect = stand_in(row)};
}

std::uint64_t worth_of(const EffectRow& row) {
  if (!row.value || !row.scope) return 0;
  const Digest digest = core::sha256_parts("semel worth v1", {*row.scope, *row.value});
  std::uint64_t worth = 0;
  std::memcpy(&worth, digest.data(), sizeof(worth));
  return worth;
}

std::unexpected<Error> stopped() {
  return fail(Code::unavailable, "the audit was stopped");
}

class WindowRun {
 public:
  WindowRun(const KeySources& keys, EffectSource& source, const config::AuditConfig& audit, const AuditWindow& window,
            const RunControl& control)
      : keys_(keys), source_(source), audit_(audit), control_(control) {
    report_.window = window;
    plant_text_ = "semel-plant-" + core::to_hex(store::random_salt());
    const Result<Key> plant = make_key(audit.space, "", plant_text_);
    if (plant) plant_ = plant->id;
  }

  Result<WindowReport> run() {
    const Result<std::uint64_t> expected = source_.estimate(span());
    if (!expected) return std::unexpected(expected.error());
    const std::uint64_t wanted = std::bit_ceil(1 + (*expected / audit_.rows_max));
    auto shares = static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, shares_max));
    for (Result<void> compared = compare_all(shares); !compared; compared = compare_all(shares)) {
      if (compared.error().code != Code::full || shares >= shares_max) return std::unexpected(compared.error());
      shares *= 2;
    }
    if (report_.blind) return std::move(report_);
    if (Result<void> confirmed = drop_other_requests(); !confirmed) return std::unexpected(confirmed.error());
    if (Result<void> described = describe(); !described) return std::unexpected(described.error());
    return std::move(report_);
  }

 private:
  [[nodiscard]] EffectSpan span() const { return {.from = report_.window.from, .to = report_.window.to}; }

  Result<void> compare_all(std::uint32_t shares) {
    suspects_.clear();
    report_.findings.clear();
    report_.suspects = {};
    report_.effects = report_.keys = 0;
    report_.shares = shares;
    for (std::uint32_t number = 0; number < shares && !report_.blind; ++number) {
      if (Result<void> compared = compare({.count = shares, .number = number}); !compared) return compared;
    }
    return {};
  }

  Result<void> compare(const EffectShare& share) {
    std::vector<EffectMark> marks;
    marks.reserve(std::size_t{audit_.rows_max} + 2);
    const auto take = [&](const EffectRow& row) -> Result<void> {
      if (control_.stop.load(std::memory_order_relaxed)) return stopped();
      if (marks.size() >= std::size_t{audit_.rows_max} + 2) {
        return fail(Code::full, "the window has more effects than can be held");
      }
      const std::optional<Digest> key = key_of(row, audit_.space);
      EffectMark& mark = marks.emplace_back();
      mark.key = key ? *key : stand_in(row);
      mark.worth = worth_of(row);
      mark.at = row.at.time_since_epoch().count();
      mark.keyless = key ? 0 : 1;
      return {};
    };
    if (Result<void> read = source_.read(span(), share, plant_text_, take); !read) return read;
    report_.effects += marks.size() - std::min<std::size_t>(marks.size(), 2);
    Comparison comparison(std::move(marks));
    Result<std::vector<KeyState>> states = states_of(keys_, comparison, audit_.space, plant_);
    if (!states) return std::unexpected(states.error());
    const Time settled = report_.window.settled;
    const std::vector<Suspect> with = judged(comparison, *states, settled);
    states->erase(states->begin() + static_cast<std::ptrdiff_t>(place_of_plant(comparison)));
    comparison.erase(plant_);
    if (states->size() != comparison.keys()) states->resize(comparison.keys());  // nothing was planted: blind
    const std::vector<Suspect> without = judged(comparison, *states, settled);
    report_.keys += comparison.keys();
    if (!sees_plant(with, without, plant_)) {
      report_.blind = true;
      return {};
    }
    add(without);
    if (share.count > 1) return {};
    if (Result<void> looked = look_for_missing(comparison); !looked) return looked;
    add(std::move(comparison).equal_values(settled, equal_value_span, described_max));
    return {};
  }

  Result<void> look_for_missing(const Comparison& comparison) {
    if (audit_.expect != config::AuditExpect::one || keys_.roll == nullptr || keys_.desk == nullptr) return {};
    Result<MissingLook> look = missing_keys(keys_, comparison, audit_, report_.window, control_.missed, described_max);
    if (!look) return std::unexpected(std::move(look.error()));
    report_.came = std::move(look->came);
    report_.suspects.at(static_cast<std::size_t>(AuditKind::missing)) = look->missing.size();
    for (MissingKey& key : look->missing) {
      AuditFinding finding;
      finding.id = finding_id(audit_.name, AuditKind::missing, key.id);
      finding.audit = audit_.name;
      finding.kind = AuditKind::missing;
      finding.keys.push_back(std::move(key.evidence));
      if (!control_.known || !control_.known(finding.id, 0)) report_.findings.push_back(std::move(finding));
    }
    return {};
  }

  [[nodiscard]] std::vector<Suspect> judged(const Comparison& comparison, std::span<const KeyState> states,
                                            Time settled) const {
    return control_.judge ? control_.judge(comparison, states, settled) : comparison.judge(states, settled);
  }

  [[nodiscard]] std::size_t place_of_plant(const Comparison& comparison) const {
    std::size_t low = 0;
    for (std::size_t high = comparison.keys(); low < high;) {
      const std::size_t middle = low + ((high - low) / 2);
      if (comparison.key(middle) < plant_) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return std::min(low, comparison.keys() == 0 ? 0 : comparison.keys() - 1);
  }

  void add(const std::vector<Suspect>& found) {
    for (const Suspect& suspect : found) {
      std::uint64_t& count = report_.suspects.at(static_cast<std::size_t>(suspect.kind));
      if (++count <= described_max) suspects_.push_back(suspect);
    }
  }

  // Equal values are worth a word only if the same request came under two keys.
  Result<void> drop_other_requests() {
    std::optional<Error> failed;
    std::erase_if(suspects_, [&](const Suspect& suspect) {
      if (suspect.kind != AuditKind::duplicate_value || failed) return false;
      Result<bool> same = same_request(keys_, suspect.key, suspect.other, audit_.space);
      if (!same) failed = std::move(same.error());
      if (!same || *same) return false;
      --report_.suspects.at(static_cast<std::size_t>(suspect.kind));
      return true;
    });
    if (failed) return std::unexpected(*std::move(failed));
    return {};
  }

  // The rows are read once more, in the same snapshot, for those that somebody will look at.
  Result<void> describe() {
    std::erase_if(suspects_, [&](const Suspect& suspect) {
      const std::string id = finding_id(audit_.name, suspect.kind, suspect.key, suspect.other);
      return control_.known && control_.known(id, suspect.effects);
    });
    if (suspects_.empty()) return {};
    SeenRows rows;
    for (const Suspect& suspect : suspects_) {
      rows[suspect.key];
      if (suspect.kind == AuditKind::duplicate_value) rows[suspect.other];
    }
    const auto take = [&](const EffectRow& row) -> Result<void> {
      if (control_.stop.load(std::memory_order_relaxed)) return stopped();
      const std::optional<Digest> key = key_of(row, audit_.space);
      const auto found = rows.find(key ? *key : stand_in(row));
      if (found == rows.end() || found->second.size() >= evidence_rows_max) return {};
      found->second.push_back(seen(row));
      return {};
    };
    if (Result<void> read = source_.read(span(), {}, {}, take); !read) return read;
    for (const Suspect& suspect : suspects_) {
      Result<AuditFinding> finding = described(suspect, rows);
      if (!finding) return std::unexpected(std::move(finding.error()));
      report_.findings.push_back(*std::move(finding));
    }
    return {};
  }

  Result<AuditFinding> described(const Suspect& suspect, SeenRows& rows) {
    AuditFinding finding;
    finding.id = finding_id(audit_.name, suspect.kind, suspect.key, suspect.other);
    finding.audit = audit_.name;
    finding.kind = suspect.kind;
    finding.effects = suspect.effects;
    const std::vector<SeenRow>& own = rows[suspect.key];
    for (const SeenRow& each : own) finding.rows.push_back(each.row);
    const bool twice = suspect.kind == AuditKind::duplicate;
    const auto same = [&](const SeenRow& each) { return each.effect == own.front().effect; };
    if (twice && std::ranges::all_of(own, same)) {
      return fail(Code::invalid, "the query returns the effect \"" +
                                     (own.empty() ? std::string() : own.front().row.effect) +
                                     "\" more than once; each effect must be one row (look for a join)");
    }
    // A row without a key is known by the hash of its effect.
    const bool keyless = suspect.kind == AuditKind::orphan && !own.empty() && own.front().effect == suspect.key;
    if (!keyless) {
      if (Result<void> added = add_key(suspect.key, finding); !added) return std::unexpected(added.error());
    }
    if (suspect.kind == AuditKind::duplicate_value) {
      for (const SeenRow& each : rows[suspect.other]) finding.rows.push_back(each.row);
      if (Result<void> added = add_key(suspect.other, finding); !added) return std::unexpected(added.error());
    }
    return finding;
  }

  Result<void> add_key(const Digest& key, AuditFinding& finding) {
    Result<KeyEvidence> evidence = evidence_of(keys_, key, audit_.space, report_.window.to);
    if (!evidence) return std::unexpected(std::move(evidence.error()));
    finding.keys.push_back(*std::move(evidence));
    return {};
  }

  const KeySources& keys_;
  EffectSource& source_;
  const config::AuditConfig& audit_;
  const RunControl& control_;
  std::string plant_text_;
  Digest plant_{};
  WindowReport report_;
  std::vector<Suspect> suspects_;
};

}  // namespace

Result<WindowReport> run_window(const KeySources& keys, EffectSource& source, const config::AuditConfig& audit,
                                const AuditWindow& window, const RunControl& control) {
  if (Result<void> begun = source.begin(); !begun) return std::unexpected(std::move(begun.error()));
  Result<WindowReport> report = WindowRun(keys, source, audit, window, control).run();
  source.end();
  return report;
}

}  // namespace semel::auditor
