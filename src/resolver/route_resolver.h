// The resolver of one route: looks into the store, asks the source, writes down what it thinks, and, if it may,
// settles.
//
//   list what is unknown → the question of each (its reminder) → ask in batches → ruling → suggestion → settle
//
// It acts as people do: with the fence that was judged, a reason, and an entry in the audit log before the act.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "gateway/logged_act.h"
#include "policy/route.h"
#include "resolver/docket.h"
#include "resolver/ruling.h"
#include "resolver/source.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::resolver {

// For /metrics. Written by the resolver's thread.
struct ResolverCounts {
  std::atomic<std::uint64_t> asked{0};       // questions
  std::atomic<std::uint64_t> unanswered{0};  // questions, because the source could not be reached, or failed
  std::atomic<std::uint64_t> suggested{0};   // rulings of "done" and "not done", applied or not
  std::atomic<std::uint64_t> done{0};        // applied
  std::atomic<std::uint64_t> not_done{0};    // applied
  std::atomic<std::uint64_t> refused{0};     // the key had moved on, or the store or the log did not answer
  std::atomic<std::uint64_t> watched{0};     // keys, now
  std::atomic<std::uint64_t> persons{0};     // of these: a person is needed
  std::atomic<std::uint64_t> unaskable{0};   // unknown keys of the namespace without a reminder, in the last pass
  std::atomic<std::int64_t> lag_ms{0};       // of the source, when it answered last
  std::atomic<bool> reached{true};           // the source, when it was asked last
};

// All of it outlives the resolver.
struct ResolverParts {
  gateway::ActBooks books;  // with a history
  Clock& clock;
  std::string node;
  std::function<void(const std::string&)> say;  // a line for the operator
};

class RouteResolver {
 public:
  RouteResolver(const ResolverParts& parts, const config::ResolverConfig& config, const policy::Route& route,
                std::unique_ptr<Source> source);

  // One look at a part of the store, one question about all whose time has come.
  static Task<void> round(RouteResolver* self);

  [[nodiscard]] const ResolverCounts& counts() const { return counts_; }
  [[nodiscard]] const std::string& route() const { return route_; }
  [[nodiscard]] Millis every() const { return every_; }

 private:
  static Task<void> look(RouteResolver* self);
  static Task<void> prepare(RouteResolver* self, DocketEntry* entry);
  static Task<bool> ask(RouteResolver* self, std::vector<DocketEntry*> entries);
  static Task<void> write_down(RouteResolver* self, const std::vector<RuledEntry>* heard, Time asked);
  static Task<void> settle(RouteResolver* self, const RuledEntry* heard);
  void count(std::span<const Testimony> said);

  const ResolverParts& parts_;
  const std::string route_;
  const std::string space_;
  const Millis every_;
  const config::ResolverDecides decide_;
  std::unique_ptr<Source> source_;
  Docket docket_;
  std::string cursor_;           // of the pass
  std::uint64_t unaskable_ = 0;  // in the pass so far
  ResolverCounts counts_;
};

}  // namespace semel::resolver
