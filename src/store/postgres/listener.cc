// The listener's thread: it sends what was asked for, reads the notifications that have come, and waits for more.
#include "store/postgres/listener.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <libpq-fe.h>
#include <sys/eventfd.h>
#include <sys/poll.h>
#include <unistd.h>

#include "core/check.h"
#include "core/encoding.h"
#include "store/postgres/connection.h"
#include "store/postgres/server.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::store::postgres {
namespace {

constexpr const char* listen_sql = "LISTEN semel_ended";
constexpr const char* listen_changes_sql = "LISTEN semel_changed";
constexpr const char* changed_sql = "SELECT pg_notify('semel_changed', id) FROM unnest($1::text[]) AS i(id)";
constexpr const char* tell_sql = "SELECT pg_notify('semel_ended', id) FROM unnest($1::text[]) AS i(id)";
constexpr const char* expect_sql = "SELECT encode(id, 'hex') FROM semel.await_1($2::integer, $1::bytea[])";
constexpr Millis pause{1'000};  // after a failure
constexpr int wait_ms = 1'000;

std::optional<Digest> id_of(std::string_view hex) {
  Digest id{};
  const std::optional<std::string> bytes = core::from_hex(hex);
  if (!bytes || bytes->size() != id.size()) return std::nullopt;
  std::ranges::copy(*bytes, id.begin());
  return id;
}

// An array in text form, with `prefix` before each id.
std::string list(const std::vector<Digest>& ids, std::string_view prefix) {
  std::string text = "{";
  for (const Digest& id : ids) {
    if (text.size() > 1) text += ',';
    text.append(prefix);
    core::append_hex(text, id);
  }
  return text + "}";
}

}  // namespace

NotifyListener::NotifyListener(const Clock& clock, std::string url, Millis time_max)
    : clock_(clock), url_(std::move(url)), time_max_(time_max), wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  core::check(wake_fd_ >= 0, "there is a descriptor left");
}

NotifyListener::~NotifyListener() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  const std::uint64_t one = 1;
  (void)!write(wake_fd_, &one, sizeof(one));
  if (thread_.joinable()) thread_.join();
  close(wake_fd_);
}

void NotifyListener::watch_changes(Changed changed) {
  changed_ = std::move(changed);
  add(pending_.changed, {});  // starts the thread, which listens
}

void NotifyListener::expect(const Digest& id) {
  add(pending_.expected, {id});
}

void NotifyListener::tell(const std::vector<Digest>& ids) {
  add(pending_.told, ids);
}

void NotifyListener::tell_changed(const Digest& id) {
  add(pending_.changed, {id});
}

void NotifyListener::add(std::vector<Digest>& list, const std::vector<Digest>& ids) {
  {
    const std::scoped_lock lock(mutex_);
    list.insert(list.end(), ids.begin(), ids.end());
    if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
  }
  const std::uint64_t one = 1;
  (void)!write(wake_fd_, &one, sizeof(one));
}

void NotifyListener::serve() {
  for (;;) {
    Pending pending;
    {
      const std::scoped_lock lock(mutex_);
      if (closing_) return;
      std::swap(pending, pending_);
    }
    if (connected()) work(pending);
    if (connection_ != nullptr) hear();
    wait();
  }
}

// Connects if there is no connection, unless it was tried a moment ago.
bool NotifyListener::connected() {
  if (connection_ != nullptr) return true;
  if (clock_.now() < retry_at_) return false;
  retry_at_ = clock_.now() + pause;
  Result<DatabaseConnection> fresh = connect_newest(clock_, url_, time_max_);
  if (!fresh || !ask(clock_, fresh->get(), listen_sql, {}, time_max_)) return false;
  if (changed_ && !ask(clock_, fresh->get(), listen_changes_sql, {}, time_max_)) return false;
  connection_ = *std::move(fresh);
  if (changed_) changed_(nullptr);  // who knows what was said while nobody listened
  return true;
}

bool NotifyListener::tell_all(const char* sql, const std::vector<Digest>& ids) {
  if (ids.empty()) return true;
  const std::array<std::string, 1> parameters{list(ids, "")};
  return ask(clock_, connection_.get(), sql, parameters, time_max_).has_value();
}

void NotifyListener::work(const Pending& pending) {
  if (!tell_all(changed_sql, pending.changed) || !tell_all(tell_sql, pending.told)) return connection_.reset();
  if (pending.expected.empty()) return;
  const std::array<std::string, 2> parameters{list(pending.expected, "\\\\x"), std::to_string(time_max_.count())};
  const auto over = ask(clock_, connection_.get(), expect_sql, parameters, time_max_);
  if (!over) return connection_.reset();
  for (const Row& row : *over) {
    const std::optional<Digest> id = id_of(row.front().value_or(""));
    if (id && ended_) ended_(*id);
  }
}

void NotifyListener::hear() {
  if (PQconsumeInput(connection_.get()) == 0) return connection_.reset();
  for (;;) {
    const std::unique_ptr<PGnotify, decltype(&PQfreemem)> notice(PQnotifies(connection_.get()), &PQfreemem);
    if (notice == nullptr) return;
    const std::optional<Digest> id = id_of(notice->extra);
    const bool change = std::string_view(notice->relname) == "semel_changed";
    if (id && change && changed_) changed_(&*id);
    if (id && !change && ended_) ended_(*id);
  }
}

void NotifyListener::wait() {
  std::array<pollfd, 2> descriptors{
      {{.fd = wake_fd_, .events = POLLIN, .revents = 0}, {.fd = -1, .events = POLLIN, .revents = 0}}};
  if (connection_ != nullptr) descriptors[1].fd = PQsocket(connection_.get());
  if (poll(descriptors.data(), descriptors.size(), wait_ms) <= 0) return;
  std::uint64_t count = 0;
  if (descriptors[0].revents != 0) (void)!read(wake_fd_, &count, sizeof(count));
}

}  // namespace semel::store::postgres
