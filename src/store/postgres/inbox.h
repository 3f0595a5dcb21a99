// The inbox of a PostgreSQL store, which several gateways share. The rules are in the database (schema_3*.cc): a call
// is one statement, and accepting and settling go in batches with others of this process.
//
// This process is a holder of the inbox from the first call that needs one on (holder_book.h). It says every `beat`
// that it lives, over a connection that no request waits for; after three beats without that, others put back what it
// ran.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/event_id.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/postgres/driver.h"
#include "store/postgres/heartbeat.h"
#include "store/postgres/holder_book.h"
#include "store/postgres/inbox_room.h"
#include "store/postgres/inbox_statements.h"
#include "store/postgres/late_driver.h"
#include "store/postgres/sql.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::postgres {

class PostgresInbox : public Inbox, public InboxDesk {
 public:
  // `driver` outlives it. `aside` is for what no request waits for.
  PostgresInbox(Clock& clock, Driver& driver, DriverOptions aside, Millis beat);

  Async<Acceptance> accept(AcceptOrder order, AcceptReply reply) override;
  Async<TakenDeliveries> take(TakeOrder order) override;
  Async<void> settle(SettleOrder order) override;
  Async<std::size_t> adopt(AdoptOrder order) override;
  Async<std::optional<Parcel>> load(core::EventId id) override;
  [[nodiscard]] bool is_shared() const override { return true; }
  [[nodiscard]] bool may_begin(const core::EventId& id, const std::string& to) override;
  [[nodiscard]] DeliveryShare share() override { return book_.share(); }
  Async<std::vector<std::string>> lead(LeadOrder order) override;
  [[nodiscard]] bool leads(const std::string& to) override { return book_.leads(to); }

  Async<std::optional<AcceptedEvent>> find(core::EventId id) override;
  Async<DeliveryList> list(DeliveryFilter filter, std::string cursor) override;
  Async<std::vector<DeliveryTally>> status() override;
  Async<AcceptedEvent> change(DeliveryChange change) override;
  Async<void> control(DestinationControl control) override;
  Async<std::vector<DestinationControl>> controls() override;
  Async<bool> erase(core::EventId id, std::string reason) override;
  Async<std::size_t> sweep_inbox(std::size_t limit) override;

  // For bulk work (jobs.h): this process as a holder that lives, and a question over the connection that no request
  // waits for.
  Async<HolderBook::Beat> as_holder();
  void was_taken_for_dead(std::uint32_t holder) { book_.died(holder); }
  Async<void> ask_aside(ServerStep* step);

 private:
  // Over the connections of requests.
  Async<void> ask(ServerStep* step, Key key = {});
  Async<std::int64_t> number_aside(const Sql* sql, PlainStep::Fill fill);

  Async<void> live();
  Task<void> beat();
  Async<Record> record_of(core::EventId id);
  Async<std::vector<core::EventId>> reclaim(std::vector<core::EventId> ids, std::optional<Millis> taken_before);
  Async<void> audit(std::size_t limit);
  std::uint64_t turn_of(const std::string& to);

  Clock& clock_;
  Driver& driver_;
  LateDriver aside_;
  const Millis beat_;
  HolderBook book_;
  InboxRoom room_;
  struct Notes {
    std::mutex mutex;
    std::map<std::string, std::uint64_t> turns;  // by destination: of a take that was not answered yet
    std::map<std::pair<std::string, std::string>, std::uint64_t> strays;  // by source and destination
    core::EventId audited;
    Millis rest{0};
  };
  Notes notes_;
  Heartbeat heart_;  // last: it uses the others until it has ended
};

}  // namespace semel::store::postgres
