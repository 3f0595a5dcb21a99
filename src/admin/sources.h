// What the operators' pages are made from. The listener is started beside a gateway, and gets only this much of it.
//
// Everything is used on the listener's own thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "config/config.h"
#include "gateway/dispatcher.h"
#include "store/audit_log.h"
#include "store/desk.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/reopening.h>
#include <semel/store.h>

namespace semel::admin {

struct Sources {
  Store& store;
  Reopening* reopening = nullptr;                                 // null if the store cannot
  std::function<std::shared_ptr<const config::Config>()> config;  // the one in force
  std::function<std::string()> metrics;                           // the text of /metrics
  std::function<Task<std::string>()> upstream_trouble;            // why an upstream cannot be reached; empty if all can
  std::function<bool()> draining;                                 // whether the gateway is on its way out
  std::function<void(const Key&)> forget;                         // an operator has changed this key
  Millis forgotten_within{0};                                     // by every gateway on this store
  store::Desk* desk = nullptr;                                    // null if the store has none
  store::AuditLog* audit = nullptr;                               // the same; without it nothing is settled
  std::function<Time()> now = {};                                 // for the audit log
  gateway::Dispatcher* dispatcher = nullptr;                      // null if there is no inbox
};

}  // namespace semel::admin
