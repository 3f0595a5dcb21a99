// What commands print for people holds text that strangers chose: types of events, values of headers, rows of tables.
// None of it may act on the terminal of who reads it.
#include <initializer_list>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <gtest/gtest.h>

#include "cli/inbox_call.h"
#include "cli/keys/tally.h"
#include "cli/keys/text.h"

namespace semel::cli {
namespace {

namespace json = boost::json;

constexpr std::string_view hostile = "a\x1b]0;b\x07\x9b\r\n\u202e c\x7f";
constexpr std::string_view shown = R"(a\x1b]0;b\x07\x9b\x0d\x0a\xe2\x80\xae c\x7f)";

json::object hostile_with(std::initializer_list<std::string_view> members) {
  json::object object;
  for (const std::string_view member : members) object[member] = std::string(hostile);
  return object;
}

// Lines end where we end them, and nothing else is there that a terminal obeys.
void expect_harmless(const std::string& text) {
  EXPECT_NE(text.find(shown), std::string::npos) << text;
  for (const std::string_view part : {"\x1b", "\x07", "\r", "\x7f", "\x9b", "\u202e"}) {
    EXPECT_EQ(text.find(part), std::string::npos) << text;
  }
}

TEST(Printed, DeliveriesAreHarmless) {
  testing::internal::CaptureStdout();
  print_delivery(hostile_with({"id", "accepted_at", "source", "destination", "state", "why"}));
  const std::string text = testing::internal::GetCapturedStdout();
  expect_harmless(text);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

TEST(Printed, ComplaintsAreHarmless) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(complain_of_inbox(hostile, 4), 4);
  expect_harmless(testing::internal::GetCapturedStderr());
}

TEST(Printed, KeysAreHarmless) {
  json::object key = hostile_with({"id", "state", "fence", "namespace", "scope", "claimed_at", "fingerprint"});
  key["suggestion"] = hostile_with({"as", "why", "by"});
  expect_harmless(key_line(key));
  json::object response = hostile_with({"status"});
  response["fields"] = json::array{hostile_with({"name", "value"})};
  key["response"] = response;
  expect_harmless(key_text(key));
  expect_harmless(audit_line(hostile_with({"entry"})));
}

TEST(Printed, TimelinesAreHarmless) {
  json::object repeats = hostile_with({"at", "node", "until"});
  repeats["event"] = "repeats";
  repeats["callers"] = json::array{hostile_with({"answer", "status", "client", "agent", "differs"})};
  json::object attempt = hostile_with({"at", "upstream", "node", "cause", "client", "agent"});
  attempt["event"] = "attempt";
  json::object act = hostile_with({"at", "act", "who"});
  act["event"] = "act";
  act["reason"] = json::array{std::string(hostile.substr(0, 7)) + std::string(hostile)};  // written as JSON
  json::object life;
  life["events"] = json::array{repeats, attempt, act};
  expect_harmless(timeline_text(life));
  expect_harmless(request_line(hostile_with({"time", "outcome", "key", "method", "path", "agent", "detail"})));
}

TEST(Printed, ReportsAreHarmless) {
  json::object answer = hostile_with({"by"});
  answer["items"] =
      json::array{hostile_with({"at", "name", "kind", "strength", "route", "scope", "evidence", "advice"})};
  answer["observed"] = json::array{hostile_with({"route"})};
  expect_harmless(tally_text(answer));
  expect_harmless(doctor_text(answer));
}

}  // namespace
}  // namespace semel::cli
