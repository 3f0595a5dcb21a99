// The calls of an inbox, for stores that keep it in a table: each becomes a step that the store makes in its own way.
//
// What is stored is of the store's time, which can be ahead of the process's clock (embedded/store_clock.h). Times that
// are compared with that clock are turned here, where they leave and come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/event_id.h"
#include "core/function_ref.h"
#include "store/call.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/inbox_jobs.h"
#include "store/inbox_table.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store {

class InboxFront : public Inbox, public InboxDesk, public InboxJobs {
 public:
  void tell_due(const DueListener& listener) final { listener_ = listener; }
  void tell_unread(const UnreadListener& listener) final { unread_listener_ = listener; }
  Async<Acceptance> accept(AcceptOrder order, AcceptReply reply) final;
  Async<TakenDeliveries> take(TakeOrder order) final;
  Async<void> settle(SettleOrder order) final;
  Async<std::size_t> adopt(AdoptOrder order) final;
  Async<std::optional<Parcel>> load(core::EventId id) final;

  Async<std::optional<AcceptedEvent>> find(core::EventId id) final;
  Async<DeliveryList> list(DeliveryFilter filter, std::string cursor) final;
  Async<std::vector<DeliveryTally>> status() final;
  Async<AcceptedEvent> change(DeliveryChange change) final;
  Async<void> control(DestinationControl control) final;
  Async<std::vector<DestinationControl>> controls() final;
  Async<bool> erase(core::EventId id, std::string reason) final;
  Async<std::size_t> sweep_inbox(std::size_t limit) final;

  Async<InboxJob> plan(InboxJob job) final;
  Async<InboxJob> start(JobStart start) final;
  Async<InboxJob> cancel(std::uint64_t number) final;
  Async<std::vector<InboxJob>> jobs() final;
  Async<JobProgress> advance(JobTurn turn) final;

 protected:
  using Look = core::FunctionRef<Result<void>(InboxReader&)>;
  enum class Extent : std::uint8_t { brief, list };  // on this thread; or elsewhere, because it may take a while

 private:
  // Submits it, and tells what it made to wait.
  Task<void> make(InboxCall* call);

  // Runs the step of `call` within an atomic step of the store, durably. `call` lives until this has ended.
  virtual Task<void> submit(InboxCall* call) = 0;
  // Reads what is durable.
  virtual Task<void> read(Look look, Result<void>* answer, Extent extent) = 0;
  [[nodiscard]] virtual Time now() const = 0;
  // How far now() is ahead of the process's clock.
  [[nodiscard]] virtual Millis ahead() const { return Millis{0}; }

  DueListener listener_;
  UnreadListener unread_listener_;
};

}  // namespace semel::store
