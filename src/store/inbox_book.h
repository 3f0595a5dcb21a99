// The rules of an inbox, over an ordered map (inbox_table.h): what each call reads and writes.
//
// A store calls these within its atomic step, one at a time, with the table of the batch; finish() before the batch is
// written, then committed() or undone(). Nothing here locks, waits or knows a disk.
//
// A call that fails may have begun to change the table: make_step() of inbox_step.h takes that back. An event that
// cannot be read stays as it is, and only the line of its object waits for it (inbox_unread.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/event_id.h"
#include "store/inbox.h"
#include "store/inbox_cursors.h"
#include "store/inbox_desk.h"
#include "store/inbox_figures.h"
#include "store/inbox_jobs.h"
#include "store/inbox_line_fronts.h"
#include "store/inbox_table.h"
#include "store/inbox_unread.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::store {

class InboxBook {
 public:
  // `holder` is random, of this process.
  explicit InboxBook(std::uint32_t holder) : ids_{.holder = holder} {}

  // Reads what the last holder left: the tallies and the mark. Before everything else.
  Result<void> open(InboxReader& reader, Time now);

  Result<Acceptance> accept(InboxTable& table, KeyRecords& records, const AcceptOrder& order, const AcceptReply& reply,
                            Time now);
  Result<TakenDeliveries> take(InboxTable& table, const TakeOrder& order, Time now);
  Result<void> settle(InboxTable& table, KeyRecords& records, const SettleOrder& order, Time now);
  Result<std::size_t> adopt(InboxTable& table, const AdoptOrder& order, Time now);

  Result<AcceptedEvent> change(InboxTable& table, const DeliveryChange& change, Time now);
  Result<bool> erase(InboxTable& table, const core::EventId& id, const std::string& reason, Time now);
  Result<std::size_t> sweep(InboxTable& table, std::size_t limit, Time now);
  // Looks at the next `limit` events, and at the first again after the last: each delivery that has not ended must
  // stand in the queue of its state. One that does not is counted as a stray, and put back if it waits.
  Result<void> audit(InboxTable& table, std::size_t limit, Time now);
  // Bulk work (inbox_jobs.h). `found` are events that the job is about, in their order.
  Result<InboxJob> plan_job(InboxTable& table, InboxJob job, Time now);
  Result<InboxJob> start_job(InboxTable& table, const JobStart& start, Time now);
  Result<InboxJob> cancel_job(InboxTable& table, std::uint64_t number, Time now);
  struct JobFind {
    core::EventId after;               // where the search began
    core::EventId searched;            // how far it came
    std::vector<core::EventId> found;  // of those between
    bool complete = false;             // there are no others
  };
  Result<JobProgress> advance_job(InboxTable& table, const JobTurn& turn, const JobFind& find, Time now);

  // The tallies, with the oldest that waits.
  Result<std::vector<DeliveryTally>> status(InboxReader& reader);

  // What was made to wait since this was last asked, by destination: the earliest time.
  std::map<std::string, Time> take_dues() { return std::exchange(waits_.told, {}); }

  // What could not be read, since this was last asked.
  std::vector<std::string> take_unread() { return unread_.take_news(); }

  // What was changed since then is taken back.
  struct Savepoint {
    std::size_t table = 0;
    InboxFigures::Savepoint figures;
  };
  [[nodiscard]] Savepoint savepoint(const InboxTable& table) const;
  void go_back(InboxTable& table, const Savepoint& savepoint);

  void finish(InboxTable& table, Time now);
  void committed();
  void undone();

 private:
  core::EventId next_id(Time now);
  Result<AcceptedEvent> place(InboxTable& table, const AcceptOrder& order, AcceptedEvent event, Time now);
  Result<void> choose_state(InboxTable& table, const AcceptedEvent& event, const AcceptOrder::To& to,
                            DeliveryRecord& delivery, Time now);

  Result<bool> is_stray(InboxTable& table, const AcceptedEvent& event, const DeliveryRecord& delivery);
  Result<void> audit_event(InboxTable& table, AcceptedEvent event, Time now);

  Result<void> take_due(InboxTable& table, const TakeOrder& order, Urgency urgency, std::size_t limit,
                        TakenDeliveries& taken, Time now);
  Result<void> take_one(InboxTable& table, const TakeOrder& order, const core::EventId& id, TakenDeliveries& taken,
                        Time now);
  // Something that a dead process left running.
  struct Left {
    core::EventId id;
    std::string entry;  // among those that were taken; empty if it ran since it was accepted
  };
  Result<void> adopt_one(InboxTable& table, const Left& left, const AdoptOrder& order, Time now);
  Result<void> put_back(InboxTable& table, AcceptedEvent event, const AdoptOrder& order, Time now);
  // Succeeds if `what` cannot be read at all: then what was asked for is done without it. Else the error.
  Result<void> go_on_without(std::string_view what, const Error& error, Time now);

  // Does to an event what the job is for. False: not now, because an attempt is running.
  Result<bool> work_on(InboxTable& table, AcceptedEvent event, const JobTurn& turn, JobProgress& progress, Time now);
  Result<void> backfill(InboxTable& table, AcceptedEvent event, JobProgress& progress, Time now);

  // Stores an event, one of whose deliveries was `from` before, with all that follows from the change.
  Result<void> store(InboxTable& table, AcceptedEvent& event, const DeliveryRecord& delivery,
                     const DeliveryRecord& from, Millis retain_ended, Time now);
  Result<void> keep_line(InboxTable& table, const AcceptedEvent& event, const DeliveryRecord& delivery,
                         const DeliveryRecord& from, Time now);
  Result<void> wake_line(InboxTable& table, const std::string& to, const Line& line, Time now);
  // The first key of a line; empty if there is none.
  Result<std::string> first_of_line(InboxReader& reader, const std::string& prefix);
  Result<bool> is_first_in_line(InboxReader& reader, const AcceptedEvent& event, const std::string& to);
  void stand_in_line(InboxTable& table, const AcceptedEvent& event, const std::string& to);
  void leave_line(InboxTable& table, const std::string& prefix, std::string key);
  void keep_open(InboxTable& table, const AcceptedEvent& event, const DeliveryRecord& delivery,
                 const DeliveryRecord* from);
  void let_wait(InboxTable& table, const core::EventId& id, const DeliveryRecord& delivery);
  void plan_drop(InboxTable& table, AcceptedEvent& event, Time at);
  Result<void> drop(InboxTable& table, const core::EventId& id, Time at, Time now);
  void drop_parcel(InboxTable& table, AcceptedEvent& event);

  // What the ids of this process are made of.
  struct Ids {
    std::uint32_t holder;
    std::uint64_t sequence = 0;
    Time born{};  // its events are of a later time
  };
  Ids ids_;
  InboxFigures figures_;
  InboxCursors queues_{1U << 20U};  // those of destinations, and what is to be dropped
  InboxLineFronts lines_{16'384};
  InboxUnread unread_;
  struct Waits {
    std::map<std::string, Time> told;                 // of those that take_dues() has not told yet, by destination
    std::map<std::string, Time, std::less<>> oldest;  // by the prefix of their keys: none that had to wait is older
  };
  Waits waits_;
  std::optional<core::EventId> adopting_ = core::EventId{};  // how far adopt() has come; none: it has ended
  std::optional<core::EventId> adopted_ = core::EventId{};   // the same, as of the last batch that was written
  core::EventId newest_;                                     // that was accepted here
  struct Mark {
    core::EventId id;  // as it is stored
    Time at{};         // when that was last thought about
  };
  Mark mark_;
  core::EventId audited_;  // the newest that audit() has looked at
};

// Of an event that is stored; none if there is none.
Result<std::optional<AcceptedEvent>> read_event(InboxReader& reader, const core::EventId& id);
Result<std::vector<InboxJob>> read_jobs(InboxReader& reader);
Result<std::optional<InboxJob>> read_job(InboxReader& reader, std::uint64_t number);
// A delivery that a job has sent has ended, or was taken over by somebody else: the job counts it.
Result<void> count_for_job(InboxTable& table, const DeliveryRecord& delivery, const DeliveryRecord& from);
void apply_change(DeliveryRecord& delivery, const DeliveryChange& change, Time now);
DeliveryRecord* delivery_to(AcceptedEvent& event, const std::string& to);
// A newer event of its object is done.
Result<bool> is_overtaken(InboxReader& reader, const AcceptedEvent& event, const std::string& to, Time now);

}  // namespace semel::store
