// [[outbox]]: where effects come from, and where they may go.
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "config/config.h"
#include "config/restart.h"
#include "reading/issue.h"
#include "support/rules.h"
#include <semel/clock.h>

namespace semel::config {
namespace {

constexpr std::string_view upstream = "[upstream.mail]\nurl = 'http://127.0.0.1:3000'\n";
constexpr std::string_view mailer = "[destination.mailer]\nupstream = 'mail'\ntarget = '/send'\n";
constexpr std::string_view outbox = "[[outbox]]\ndatabase = 'postgres://db/shop'\n";

std::string text_with(std::string_view lines) {
  return std::string(upstream) + std::string(mailer) + std::string(outbox) + std::string(lines);
}

std::vector<std::string> errors(std::string_view lines) {
  return test::issues(text_with(lines), reading::Severity::error);
}

// It is enough to be a configuration: no route is needed.
TEST(OutboxConfiguration, StandsAlone) {
  const Config config = test::config(text_with("deliver = ['mailer']\n"));
  ASSERT_EQ(config.outboxes.size(), 1U);
  const OutboxConfig& read = config.outboxes.front();
  EXPECT_EQ(read.name, "app");
  EXPECT_EQ(read.database.reveal(), "postgres://db/shop");
  EXPECT_EQ(read.deliver, std::vector<std::string>{"mailer"});
  EXPECT_EQ(read.poll_busy, Millis{5});
  EXPECT_EQ(read.poll_idle, Millis{250});
  EXPECT_FALSE(read.doorbell);
}

// Each mistake is told where it stands, with what to do.
TEST(OutboxConfiguration, SaysWhatIsWrong) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(errors("deliver = ['mailr']\n"),
            Lines{"f:8:12: error: there is no [destination.mailr] (did you mean \"mailer\"?)"});
  EXPECT_EQ(errors("deliver = ['mailer', 'mailer']\n"), Lines{"f:8:22: error: mailer stands in deliver twice"});
  EXPECT_EQ(errors("deliver = []\n"),
            Lines{"f:8:11: error: deliver is empty, so everything that is sent would be dead at once"});
  EXPECT_EQ(errors("").size(), 1U);
  EXPECT_EQ(errors("deliver = ['mailer']\nname = 'a b'\n").size(), 1U);
  EXPECT_EQ(errors("deliver = ['mailer']\npoll = { busy = '1s', idle = '1ms' }\n"),
            Lines{"f:9:30: error: poll.idle is shorter than poll.busy"});
  EXPECT_EQ(errors("deliver = ['mailer']\ndelivery = 'x'\n").size(), 1U);
}

// What is sent has no path of its own.
TEST(OutboxConfiguration, NeedsATargetOfItsDestinations) {
  const std::string text = std::string(upstream) + "[destination.mailer]\nupstream = 'mail'\n" + std::string(outbox) +
                           "deliver = ['mailer']\n";
  EXPECT_EQ(test::issues(text, reading::Severity::error),
            std::vector<std::string>{"f:7:12: error: [destination.mailer] needs a target: what an outbox sends has no "
                                     "path of its own (did you mean \"target = \"/path\"\"?)"});
}

TEST(OutboxConfiguration, IsOnPostgresAndNotOverRedis) {
  std::string other = text_with("deliver = ['mailer']\n");
  other.replace(other.find("postgres://db"), 13, "mysql://db");
  EXPECT_EQ(test::issues(other, reading::Severity::error).size(), 1U);
  const std::string redis = "[store]\nurl = 'redis://127.0.0.1'\n" + text_with("deliver = ['mailer']\n");
  const std::vector<std::string> told = test::issues(redis, reading::Severity::error);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_TRUE(told.front().contains("[[outbox]] needs the embedded store or PostgreSQL")) << told.front();
}

// One name, one database: else two movers would take each other's keys for their own.
TEST(OutboxConfiguration, IsOneForEachDatabase) {
  EXPECT_EQ(errors("deliver = ['mailer']\n" + std::string(outbox) + "name = 'other'\ndeliver = ['mailer']\n").size(),
            1U);
  EXPECT_EQ(errors("deliver = ['mailer']\n[[outbox]]\ndatabase = 'postgres://b/c'\ndeliver = ['mailer']\n").size(), 1U);
  EXPECT_TRUE(
      errors("deliver = ['mailer']\n[[outbox]]\nname = 'b'\ndatabase = 'postgres://b/c'\ndeliver = ['mailer']\n")
          .empty());
}

TEST(OutboxConfiguration, WarnsOfWhatWouldComeTwiceOrIsSecret) {
  const auto warnings = [](std::string_view lines) {
    return test::issues(text_with(lines), reading::Severity::warning).size();
  };
  EXPECT_EQ(warnings("deliver = ['mailer']\n"), 0U);
  EXPECT_EQ(warnings("deliver = ['mailer']\nttl = '1h'\n"), 1U);
}

TEST(OutboxConfiguration, ChangesWithARestart) {
  const Config before = test::config(text_with("deliver = ['mailer']\n"));
  const Config after = test::config(text_with("deliver = ['mailer']\ndoorbell = true\n"));
  EXPECT_EQ(changed_for_restart(before, after), std::vector<std::string>{"outbox"});
  EXPECT_TRUE(changed_for_restart(before, before).empty());
}

}  // namespace
}  // namespace semel::config
