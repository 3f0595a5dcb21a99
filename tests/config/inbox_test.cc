// [inbox], [destination.NAME], and routes and webhooks with `delivery = "inbox"`.
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "config/config.h"
#include "inbox/destination.h"
#include "reading/issue.h"
#include "support/rules.h"
#include <semel/clock.h>

namespace semel::config {
namespace {

using test::issues;
using test::least;

std::string text_with(std::string_view lines) {
  return std::string(least) + std::string(lines);
}

std::vector<std::string> errors(std::string_view lines) {
  return issues(text_with(lines), reading::Severity::error);
}

constexpr std::string_view hook =
    "[[webhook]]\npath = '/h'\nprovider = 'stripe'\nsecrets = ['env:TOKEN']\ndelivery = 'inbox'\n";
constexpr std::string_view accepting =
    "[[route]]\npath = '/jobs/*'\nupstream = 'app'\nscope = ''\ndelivery = 'inbox'\n";

// Without more, the webhook's or the route's own upstream is the one destination, with the defaults; a route gives up
// before its keys expire, and holds what nobody can know, as it would without an inbox.
TEST(InboxConfiguration, HasADestinationOfItsOwn) {
  const Config config = test::config(text_with(std::string(hook) + "upstream = 'app'\n" + std::string(accepting)));
  ASSERT_EQ(config.destinations.size(), 2U);
  EXPECT_EQ(config.destinations[0].name, "/jobs/*");
  EXPECT_EQ(config.destinations[0].schedule.give_up_after, Millis{86'400'000});
  EXPECT_EQ(config.destinations[0].on_unknown, inbox::OnSilence::hold);
  EXPECT_EQ(config.destinations[1].name, "/h");
  EXPECT_EQ(config.destinations[1].on_unknown, inbox::OnSilence::retry);
  ASSERT_EQ(config.route_intakes.size(), config.routes.size());
  ASSERT_TRUE(config.route_intakes.back().has_value());
  EXPECT_FALSE(config.route_intakes.front().has_value());
}

// A route or a webhook can name destinations of the file.
TEST(InboxConfiguration, NamesDestinations) {
  const std::string billing = "[destination.billing]\nupstream = 'app'\nconcurrency = 3\ngive_up_after = '1h'\n";
  const Config config = test::config(text_with(billing + std::string(accepting) + "destination = 'billing'\n" +
                                               "keep_credentials = true\ndepth_max = 5\n"));
  ASSERT_EQ(config.destinations.size(), 1U);
  const inbox::InboxRules rules = config.route_intakes.back().value_or(inbox::InboxRules{});
  EXPECT_TRUE(rules.credentials);
  EXPECT_EQ(rules.depth_max, 5U);
  EXPECT_EQ(errors(billing + std::string(accepting) + "destination = 'biling'\n"),
            std::vector<std::string>{"f:17:15: error: there is no [destination.biling] (did you mean \"billing\"?)"});
  EXPECT_EQ(errors(billing + std::string(hook) + "deliver = [ { to = 'bill' } ]\n").size(), 1U);
}

// What a route cannot promise together with an inbox is an error.
TEST(InboxConfiguration, RefusesWhatARouteCannotPromise) {
  const auto refused = [](std::string_view line) {
    std::string text(accepting);
    if (line.starts_with("scope")) text.erase(text.find("scope = ''\n"), 11);
    const std::vector<std::string> found = errors(text + std::string(line));
    return found.size() == 1 && found.front().find("delivery = \"inbox\"") != std::string::npos;
  };
  EXPECT_TRUE(refused("key = 'off'"));
  EXPECT_TRUE(refused("revalidate = '/me'"));
  EXPECT_TRUE(refused("scope = '{json:/account}'"));
  EXPECT_EQ(errors(accepting), std::vector<std::string>{});
}

// What became of an attempt can be asked at a destination, at a webhook's own one, and at a route's own one, where the
// route says what to ask.
TEST(InboxConfiguration, AsksByAProbe) {
  const std::string billing = "[destination.billing]\nupstream = 'app'\non_unknown = 'probe'\nprobe = '/p/{object}'\n";
  const std::string webhook = std::string(hook) + "upstream = 'app'\non_unknown = 'probe'\nprobe = '/q/{json:/id}'\n";
  const std::string route = std::string(accepting) + "on_unknown = 'probe'\nprobe = '/r?key={key}'\n";
  const Config config = test::config(text_with(billing + route + webhook));
  ASSERT_EQ(config.destinations.size(), 3U);
  for (const inbox::Destination& each : config.destinations) EXPECT_EQ(each.on_unknown, inbox::OnSilence::probe);
  EXPECT_EQ(config.destinations[0].probe.text(), "/p/{object}");
  EXPECT_EQ(config.destinations[1].probe.text(), "");
  EXPECT_EQ(config.destinations[2].probe.text(), "/q/{json:/id}");
}

// A probe that could not be asked, or would not be, is an error or a warning that says what to do.
TEST(InboxConfiguration, RefusesAProbeThatCannotBeAsked) {
  const auto said = [](const std::string& text, reading::Severity severity, std::string_view words) {
    for (const std::string& each : issues(text_with(text), severity)) {
      if (each.find(words) != std::string::npos) return true;
    }
    return false;
  };
  const std::string billing = "[destination.billing]\nupstream = 'app'\n";
  const std::string webhook = std::string(hook) + "upstream = 'app'\n";
  const std::string probing = "on_unknown = 'probe'\n";
  using enum reading::Severity;
  EXPECT_TRUE(said(billing + probing, error, "needs `probe`"));
  EXPECT_TRUE(said(billing + probing + "probe = 'p'\n", error, "must begin with a slash"));
  EXPECT_TRUE(said(billing + "probe = '/p'\n", warning, "no effect unless on_unknown"));
  EXPECT_TRUE(said(webhook + probing, error, "needs `probe`"));
  EXPECT_TRUE(said(webhook + "probe = '/p'\n", warning, "no effect unless on_unknown"));
  EXPECT_TRUE(
      said(billing + webhook + probing + "deliver = [ { to = 'billing' } ]\n", error, "each [destination.NAME]"));
  EXPECT_TRUE(said(billing + std::string(accepting) + "destination = 'billing'\nprobe = '/p'\n" + probing, error,
                   "that [destination.NAME]"));
  std::string forwarded = webhook + probing;
  forwarded.erase(forwarded.find("delivery"), forwarded.find("upstream = ") - forwarded.find("delivery"));
  EXPECT_TRUE(said(forwarded, error, "only a webhook with delivery"));
}

// A store without an inbox is refused, with the reason, for webhooks and for routes.
TEST(InboxConfiguration, NeedsAStoreThatHasOne) {
  const std::string webhook = std::string(hook) + "upstream = 'app'\n";
  for (const std::string& text : {webhook, std::string(accepting)}) {
    const auto found = [&](std::string_view url) {
      return errors(text + "[store]\nurl = '" + std::string(url) + "'\n");
    };
    ASSERT_EQ(found("redis://127.0.0.1/0").size(), 1U);
    EXPECT_NE(found("redis://127.0.0.1/0").front().find("may forget what was acknowledged"), std::string::npos);
    EXPECT_TRUE(found("postgres://127.0.0.1/semel").empty());
    EXPECT_TRUE(found("embedded:./data").empty());
  }
}

// Options of an inbox say so when there is none.
TEST(InboxConfiguration, WarnsOfOptionsWithoutEffect) {
  const std::vector<std::string> found = issues(
      text_with("[[route]]\npath = '/x'\nupstream = 'app'\nscope = ''\ndepth_max = 5\n"), reading::Severity::warning);
  ASSERT_FALSE(found.empty());
  bool said = false;
  for (const std::string& each : found) {
    said = said || each.find("depth_max has no effect without delivery = \"inbox\"") != std::string::npos;
  }
  EXPECT_TRUE(said);
}

}  // namespace
}  // namespace semel::config
