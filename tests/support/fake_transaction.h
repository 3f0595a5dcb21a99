// A client for tests of handlers: gives a request and remembers the reply. Nothing waits, no time passes, and the test
// rings the alarm itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/field_view.h"
#include "http/failure.h"
#include "http/head.h"
#include "http/transaction.h"
#include "http/writer.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::test {

class FakeTransaction final : public http::Transaction {
 public:
  FakeTransaction(Executor executor, std::string_view method, std::string_view target,
                  std::vector<FieldView> fields = {}, std::string body = {})
      : Transaction(
            {.head = head_, .peer = "192.0.2.7", .client_subject = {}, .encrypted = false, .executor = executor}),
        body_(std::move(body)),
        body_read_(body_.empty()) {
    head_.set_request(method, target);
    for (const FieldView& field : fields) head_.add(field.name, field.value);
    if (!body_.empty()) head_.set_framing(http::Framing::length, body_.size());
  }

  // The client goes wrong: reading its body, or sending it a reply, fails like this.
  std::optional<http::Failure> reading_fails;
  std::optional<http::Failure> replying_fails;

  // What the client has seen so far.
  struct Received {
    std::string head;  // with its status line, as HTTP/1.1
    std::string body;
    bool ended = false;  // the reply is whole
    bool cut = false;
    bool switched = false;
  };
  [[nodiscard]] const Received& received() const { return received_; }
  [[nodiscard]] bool closes() const { return closes_; }
  [[nodiscard]] bool sending_ended() const { return sending_ended_; }

  // How long the alarm that is set may take; nothing if none is set.
  [[nodiscard]] std::optional<Millis> alarm_time() const { return ring_ ? std::optional(alarm_time_) : std::nullopt; }
  void ring() { std::exchange(ring_, nullptr)(); }

  http::Attempted<std::string_view> read_body() override {
    if (reading_fails) co_return http::failed(*reading_fails);
    co_return std::exchange(body_read_, true) ? std::string_view() : std::string_view(body_);
  }
  http::Attempted<std::string> read_whole_body(std::size_t bytes_max) override {
    if (reading_fails) co_return http::failed(*reading_fails);
    if (body_.size() > bytes_max) co_return http::failed(http::Failure::too_large);
    body_read_ = true;
    co_return body_;
  }
  void stop_reading() override { reading_fails = http::Failure::broken; }
  [[nodiscard]] bool body_read() const override { return body_read_; }

  http::Attempted<void> reply(std::uint16_t status, WriteFields fields, std::string_view body) override {
    begin(status, fields);
    return send(body, true);
  }
  http::Attempted<void> start_reply(std::uint16_t status, WriteFields fields, Form form,
                                    std::string_view first) override {
    form_ = form;
    begin(status, fields);
    return send(first, false);
  }
  http::Attempted<void> continue_reply(std::string_view data) override { return send(data, false); }
  http::Attempted<void> end_reply() override { return send({}, true); }
  void await_more() override {}
  [[nodiscard]] Form form() const { return form_; }

  void alarm(Millis time, std::function<void()> ring) override {
    alarm_time_ = time;
    ring_ = std::move(ring);
  }
  void silence() override { ring_ = nullptr; }

  [[nodiscard]] std::uint16_t status_sent() const override { return status_; }
  void cut_reply() override { received_.cut = true; }
  void close_after() override { closes_ = true; }
  void end_sending() override { sending_ended_ = true; }
  Task<void> switch_protocol(std::string_view /*protocol*/, WriteFields fields, http::Connection& /*other*/,
                             Millis /*silence_max*/) override {
    begin(101, fields);
    received_.switched = true;
    return nothing();
  }

 private:
  void begin(std::uint16_t status, WriteFields fields) {
    ring_ = nullptr;
    status_ = status;
    std::string head;
    http::HeadWriter writer = http::HeadWriter::response(head, status);
    fields(writer);
    if (!replying_fails) received_.head = std::move(head);
  }
  http::Attempted<void> send(std::string_view data, bool last) {
    if (replying_fails) co_return http::failed(*replying_fails);
    received_.body.append(data);
    received_.ended = last;
    co_return http::Try<void>();
  }
  static Task<void> nothing() { co_return; }

  http::Head head_;
  const std::string body_;
  bool body_read_;
  Received received_;
  Form form_;
  std::uint16_t status_ = 0;
  bool closes_ = false;
  bool sending_ended_ = false;
  Millis alarm_time_{0};
  std::function<void()> ring_;
};

}  // namespace semel::test
