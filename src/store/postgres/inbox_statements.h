// The calls of the inbox as statements, and their rows as values. See schema_3*.cc and schema_4*.cc.
//
// Accepting and settling go in batches; every other call is a PlainStep, a statement of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <libpq-fe.h>

#include "core/event_id.h"
#include "store/inbox.h"
#include "store/postgres/connection.h"
#include "store/postgres/parameters.h"
#include "store/postgres/sql.h"
#include "store/postgres/statement.h"
#include <semel/clock.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::postgres {

// What semel.accept_3 says of an event.
enum class AcceptVerdict : std::uint8_t {
  accepted = 0,
  held = 1,
  too_many = 2,
  too_large = 3,
  other_fence = 4,
  again = 5,
  dead_holder = 6
};

class AcceptStep : public ServerStep {
 public:
  // `order` and what it refers to outlive this.
  AcceptStep(const AcceptOrder& order, core::EventId id, std::uint32_t holder)
      : order_(order), id_(id), holder_(holder) {}

  // What duplicates are told, for the claim with this fence; before each time that it is sent.
  void set_response(Fence fence, std::string record) {
    fence_ = fence;
    response_ = std::move(record);
  }
  // That there is room is to be made sure.
  void look_for_room() { looks_for_room_ = true; }

  [[nodiscard]] Lane lane() const override { return Lane::accept; }
  [[nodiscard]] std::size_t bytes() const override { return order_.parcel->body.size(); }
  [[nodiscard]] bool is_impatient() const override { return true; }
  [[nodiscard]] bool send(const Link& link, std::span<ServerStep* const> all, Millis patience) const override;
  void read(const PGresult* reply, std::span<ServerStep* const> all) override;

  struct Answer {
    AcceptVerdict verdict = AcceptVerdict::again;
    std::optional<Result<Record>> record;  // of a key that is held
    Time at{};                             // the time of the server
    std::uint64_t fence = 0;               // of one that is claimed under another fence
    Time expires_at{};                     // of an accepted one
    std::string states;                    // the same; empty: as the order says
  };
  [[nodiscard]] const Answer& answer() const { return answer_; }

 private:
  const AcceptOrder& order_;
  const core::EventId id_;
  const std::uint32_t holder_;
  Fence fence_;
  std::string response_;
  bool looks_for_room_ = false;
  Answer answer_;
};

class SettleStep : public ServerStep {
 public:
  // `order` outlives this.
  explicit SettleStep(const SettleOrder& order) : order_(order) {}

  // What duplicates are told from now on.
  void set_response(Fence fence, std::string record) {
    fence_ = fence;
    response_ = std::move(record);
  }

  [[nodiscard]] Lane lane() const override { return Lane::settle; }
  [[nodiscard]] std::size_t bytes() const override { return response_ ? response_->size() : 0; }
  [[nodiscard]] bool send(const Link& link, std::span<ServerStep* const> all, Millis patience) const override;
  void read(const PGresult* reply, std::span<ServerStep* const> all) override;

  [[nodiscard]] std::int64_t verdict() const { return verdict_; }

 private:
  const SettleOrder& order_;
  Fence fence_;
  std::optional<std::string> response_;
  std::int64_t verdict_ = -1;
};

class PlainStep : public ServerStep {
 public:
  using Fill = std::function<void(Parameters&)>;
  using See = std::function<void(const PGresult*)>;

  PlainStep(const Sql& sql, Fill fill, See see) : sql_(sql), fill_(std::move(fill)), see_(std::move(see)) {}

  [[nodiscard]] bool send(const Link& link, std::span<ServerStep* const> all, Millis patience) const override;
  void read(const PGresult* reply, std::span<ServerStep* const> all) override;

 private:
  const Sql& sql_;
  const Fill fill_;
  const See see_;
};

// A row of the type semel.inbox_row_3 or semel.inbox_row_4. What it is without an event, each function says.
struct InboxRow {
  std::optional<AcceptedEvent> event;  // with one delivery
  std::optional<core::EventId> id;     // also of rows that are no event
  std::string source;
  std::string dest;
  std::int64_t status = 0;
  std::optional<std::int64_t> due;
  bool hit = false;
};
InboxRow inbox_row(const PGresult* reply, int row);

// The deliveries that are meant, each with its whole event. Rows that are no events are left out.
std::vector<TakenDelivery> deliveries_in(const PGresult* reply);

// From here on its times are by the clock that says `now`. The server has told them by its own, and has taken the
// delivery just now; or a little earlier, if it had to be asked again. Then it counts as so much younger.
void tell_by(Time now, TakenDelivery& taken);

// Milliseconds since 1970, of columns and parameters.
Time inbox_time(std::int64_t millis);
std::int64_t inbox_millis(Time time);

}  // namespace semel::store::postgres
