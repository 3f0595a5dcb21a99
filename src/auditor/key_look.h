// What the store knows of keys that have effects.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "auditor/comparison.h"
#include "auditor/finding.h"
#include "auditor/window.h"
#include "config/audit.h"
#include "store/desk.h"
#include "store/history.h"
#include "store/key_roll.h"
#include "store/lookup.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::auditor {

// What keys are known by. All of it outlives the run.
struct KeySources {
  store::Lookup& lookup;
  store::Desk* desk = nullptr;        // names keys as the store does; null: they keep their names
  store::History* history = nullptr;  // null if there is none
  store::KeyRoll* roll = nullptr;     // null: what is missing cannot be found
};

// A state for each key of the comparison; `done` for the one that was planted.
Result<std::vector<KeyState>> states_of(const KeySources& sources, const Comparison& comparison,
                                        const std::string& space, const Digest& plant);

// One key with all that is known of it, for a person.
Result<KeyEvidence> evidence_of(const KeySources& sources, const Digest& key, const std::string& space, Time now);

// A key that is done and has no effect.
struct MissingKey {
  Digest id{};  // as the store has it
  KeyEvidence evidence;
};

// Keys that are done, have a kept answer 2xx, and have no effect in the comparison; at most `limit`. Of `waited_for`,
// which are ids in hexadecimal, those that have one are moved to `came`.
struct MissingLook {
  std::vector<MissingKey> missing;
  std::vector<std::string> came;
};
Result<MissingLook> missing_keys(const KeySources& sources, const Comparison& comparison,
                                 const config::AuditConfig& audit, const AuditWindow& window,
                                 const std::vector<std::string>& waited_for, std::size_t limit);

// Whether both keys belong to the same request.
Result<bool> same_request(const KeySources& sources, const Digest& one, const Digest& other, const std::string& space);

}  // namespace semel::auditor
