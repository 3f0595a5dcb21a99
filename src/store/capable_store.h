// An opened store as the parts of Semel hand it on: what semel/stores.h says of it, and what only they use.
//
// What a store can do is named here and never found out by a cast. A new capability is one more member; a store that
// stands in front of another (sealed_store.h, postgres/shards.h) names those of the other that it passes on.
#pragma once

#include <optional>

#include "core/identity.h"
#include "store/audit_log.h"
#include "store/desk.h"
#include "store/glance.h"
#include "store/history.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/inbox_jobs.h"
#include "store/key_roll.h"
#include "store/lookup.h"
#include "store/notes.h"
#include "store/remote_changes.h"
#include <semel/stores.h>

namespace semel::store {

struct CapableStore : OpenedStore {
  Glance* glance = nullptr;          // null if the store cannot tell; part of `store`
  Lookup* lookup = nullptr;          // null if the store cannot; part of `store`
  AuditLog* audit = nullptr;         // null if there is nowhere to write what operators do; part of `store`
  Desk* desk = nullptr;              // null if operators cannot look; part of `store`
  RemoteChanges* changes = nullptr;  // null if no other process changes keys, or the store cannot tell; part of `store`
  History* history = nullptr;        // null if there is nowhere to keep one; part of `store`
  KeyRoll* roll = nullptr;           // null if keys cannot be listed by time; part of `store`
  Notes* notes = nullptr;            // null if there is nowhere to keep any; part of `store`
  Inbox* inbox = nullptr;            // null if the store has none; part of `store`
  InboxDesk* inbox_desk = nullptr;   // the same; there is one just when there is an inbox
  InboxJobs* inbox_jobs = nullptr;   // null if the inbox has no bulk work, or there is none; part of `store`
  // By which the keys are to be named before they reach the store. None: they keep their names.
  std::optional<core::StoreIdentity> identity = std::nullopt;
};

}  // namespace semel::store
