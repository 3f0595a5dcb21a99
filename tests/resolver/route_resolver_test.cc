// A resolver on a store: what it asks, what it writes down, and what it settles.
#include "resolver/route_resolver.h"

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "config/config.h"
#include "gateway/logged_act.h"
#include "policy/pattern.h"
#include "policy/route.h"
#include "resolver/ruling.h"
#include "resolver/source.h"
#include "resolver/suggestion.h"
#include "store/audit_log.h"
#include "store/capable_store.h"
#include "store/history.h"
#include "store/memory.h"
#include "store/reminder.h"
#include "support/run.h"
#include "support/virtual_clock.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::resolver {
namespace {

using namespace std::chrono_literals;

// Says what the test tells it to; what is not in it is absent.
struct Script {
  std::map<std::string, Testimony> known;  // by the text of the key
  bool up = true;
  std::size_t asked = 0;
};

class ScriptedSource : public Source {
 public:
  explicit ScriptedSource(Script& script) : script_(script) {}
  [[nodiscard]] std::size_t questions_max() const override { return 3; }
  Task<std::vector<Testimony>> ask(std::vector<KeyQuestion> questions) override {
    std::vector<Testimony> said;
    for (const KeyQuestion& question : questions) {
      ++script_.asked;
      const auto found = script_.known.find(question.key);
      Testimony testimony{.said = SourceSaid::absent};
      if (found != script_.known.end()) testimony = found->second;
      if (!script_.up) testimony = {.said = SourceSaid::nothing, .detail = "it is down"};
      said.push_back(std::move(testimony));
    }
    co_return said;
  }

 private:
  Script& script_;
};

Testimony found(const std::string& body) {
  auto answer = std::make_shared<Response>();
  answer->status = 201;
  answer->body = body;
  return {.said = SourceSaid::found, .answer = answer};
}

Task<void> nothing() {
  co_return;
}

// For tasks without a value.
Task<bool> ended(Task<void> task) {
  co_await std::move(task);
  co_return true;
}

class RouteResolverTest : public testing::Test {
 protected:
  // An attempt whose outcome was lost, with what the gateway noted of it.
  Record lose(const std::string& text, bool reminded = true) {
    const Key key = make_key("default", "", text).value();
    const Terms terms{.lease = 1s, .ttl = 24h, .owner = ++owners_};
    const Fingerprint none{};
    const Fence fence = std::get<Granted>(*test::run(context_, opened_.store->claim(key, none, terms))).fence;
    EXPECT_TRUE(test::run(context_, opened_.store->complete(key, fence, nullptr)));
    if (reminded) {
      std::vector<store::HistoryRow> rows;
      rows.push_back(to_row(store::Reminder{.route = "/v1/payments", .key = text, .target = {}}, key.id, clock_.now()));
      EXPECT_TRUE(test::run(context_, opened_.history->append(std::move(rows))));
    }
    return look(text);
  }
  Record look(const std::string& text) {
    const Digest id = make_key("default", "", text).value().id;
    return test::run(context_, opened_.desk->find(std::string(id.begin(), id.end()), 1)).value().front().record;
  }

  std::unique_ptr<RouteResolver> resolver(config::ResolverDecides decide, Script& script) {
    config::ResolverConfig config;
    config.certain_after = 10min;
    config.decide = decide;
    return std::make_unique<RouteResolver>(parts_, config, route_, std::make_unique<ScriptedSource>(script));
  }
  // Rounds, each as long after the one before as the configuration says.
  void run(RouteResolver& resolver, int rounds) {
    for (int i = 0; i < rounds; ++i) {
      test::run(context_, ended(RouteResolver::round(&resolver)));
      clock_.advance(30s);
    }
  }
  std::optional<Suggestion> suggestion(const std::string& text) {
    return test::run(context_, find_suggestion(opened_.history, look(text))).value();
  }
  std::vector<std::string> log() {
    std::vector<std::string> texts;
    for (const store::AuditEntry& entry : test::run(context_, opened_.audit->read(0, 1'000)).value()) {
      texts.push_back(entry.text);
    }
    return texts;
  }

  boost::asio::io_context context_{1};
  test::VirtualClock clock_;
  store::CapableStore opened_ = store::make_capable_memory_store(clock_);
  std::vector<std::string> said_;
  ResolverParts parts_{.books = {.desk = *opened_.desk,
                                 .audit = *opened_.audit,
                                 .history = opened_.history,
                                 .forget = [](const Key&) { return nothing(); },
                                 .now = [this] { return clock_.now(); }},
                       .clock = clock_,
                       .node = "host:1",
                       .say = [this](const std::string& line) { said_.push_back(line); }};
  policy::Route route_ = made_route();

 private:
  static policy::Route made_route() {
    policy::Route route;
    route.path = policy::pattern("/v1/payments");
    return route;
  }
  std::uint64_t owners_ = 6;
};

constexpr auto suggest = config::ResolverDecides::suggest;
constexpr auto apply = config::ResolverDecides::apply;

// Nothing is changed; what the resolver thinks of each key is written down, with the answer.
TEST_F(RouteResolverTest, Suggests) {
  for (const char* key : {"a", "b", "c", "d"}) lose(key);
  Script script;
  script.known["a"] = found("{\"id\":1}");
  script.known["c"] = {.said = SourceSaid::contradictory, .detail = "the source has 2 answers for it"};
  const auto made = resolver(suggest, script);
  run(*made, 1);
  EXPECT_EQ(suggestion("a")->ruling, RulingKind::done);
  EXPECT_EQ(suggestion("a")->answer->body, "{\"id\":1}");
  EXPECT_EQ(suggestion("b")->ruling, RulingKind::ask_again);
  EXPECT_EQ(suggestion("c")->ruling, RulingKind::person);
  EXPECT_EQ(suggestion("c")->why, "the source has 2 answers for it");
  EXPECT_EQ(made->counts().watched, 4U);
  EXPECT_EQ(made->counts().persons, 1U);
  run(*made, 25);
  EXPECT_EQ(suggestion("b")->ruling, RulingKind::not_done);
  EXPECT_LT(suggestion("b")->asks, 26U) << "not in every round";
  EXPECT_EQ(suggestion("c")->asks, 5U) << "30 s, 1 min, 2 min and 4 min apart, and the next after 8";
  EXPECT_EQ(look("b").state, Record::State::unknown);
  EXPECT_EQ(log(), std::vector<std::string>{});
}

// Each verdict is applied with the fence that it was made for, and is in the log before and after.
TEST_F(RouteResolverTest, Applies) {
  lose("a");
  lose("b");
  Script script;
  script.known["a"] = found("{\"id\":1}");
  const auto made = resolver(apply, script);
  run(*made, 1);
  const Record done = look("a");
  EXPECT_EQ(done.state, Record::State::done);
  ASSERT_NE(done.response, nullptr);
  EXPECT_EQ(done.response->body, "{\"id\":1}");
  run(*made, 25);
  EXPECT_EQ(look("b").state, Record::State::released);
  const std::vector<std::string> entries = log();
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_NE(entries[0].find("\"act\":\"resolve as done\""), std::string::npos) << entries[0];
  EXPECT_NE(entries[0].find("\"who\":\"resolver of /v1/payments\""), std::string::npos) << entries[0];
  EXPECT_NE(entries[1].find("\"outcome\":\"applied\""), std::string::npos) << entries[1];
  EXPECT_NE(entries[2].find("\"act\":\"resolve as not-done\""), std::string::npos) << entries[2];
  EXPECT_EQ(made->counts().done, 1U);
  EXPECT_EQ(made->counts().not_done, 1U);
}

// A source that is down for a day proves nothing, and takes back nothing. It is told once.
TEST_F(RouteResolverTest, LearnsNothingFromASilentSource) {
  lose("a");
  lose("b");
  Script script;
  script.known["a"] = found("{}");
  const auto made = resolver(suggest, script);
  run(*made, 2);
  script.up = false;
  run(*made, 200);
  EXPECT_EQ(suggestion("a")->ruling, RulingKind::done);
  EXPECT_EQ(suggestion("b")->ruling, RulingKind::ask_again);
  EXPECT_EQ(made->counts().reached, false);
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_EQ(said_.front(), "resolver of /v1/payments: its source cannot be asked: it is down");
  script.up = true;
  run(*made, 2);
  EXPECT_EQ(suggestion("b")->ruling, RulingKind::ask_again);
  run(*made, 25);
  EXPECT_EQ(suggestion("b")->ruling, RulingKind::not_done);
}

// A key that the source always fails for is nobody else's trouble: the others are settled, it is not, and the source
// counts as up.
TEST_F(RouteResolverTest, OneBadKeyHoldsNobodyUp) {
  for (const char* key : {"a", "b", "bad"}) lose(key);
  Script script;
  script.known["bad"] = {.said = SourceSaid::failed, .detail = "the probe was answered with status 500"};
  const auto made = resolver(apply, script);
  run(*made, 4);
  EXPECT_EQ(made->counts().reached, true);
  EXPECT_EQ(suggestion("bad")->why, "the source could not say: the probe was answered with status 500");
  run(*made, 76);
  EXPECT_EQ(look("a").state, Record::State::released);
  EXPECT_EQ(look("b").state, Record::State::released);
  EXPECT_EQ(look("bad").state, Record::State::unknown);
  script.known.erase("bad");
  run(*made, 140);
  EXPECT_EQ(look("bad").state, Record::State::released) << "it has had its own certain_after by now";
}

// A key that was failed for begins anew, and not from where it was; the others keep what they have.
TEST_F(RouteResolverTest, AFailureIsThatKeysOwn) {
  for (const char* key : {"a", "b"}) lose(key);
  Script script;
  const auto made = resolver(suggest, script);
  run(*made, 16);
  EXPECT_EQ(suggestion("b")->watched, Millis{450'000});
  script.known["b"] = {.said = SourceSaid::failed, .detail = "status 500"};
  run(*made, 6);
  script.known.erase("b");
  EXPECT_EQ(suggestion("b")->watched, Millis{0});
  run(*made, 10);
  EXPECT_EQ(suggestion("a")->ruling, RulingKind::not_done);
  EXPECT_EQ(suggestion("b")->ruling, RulingKind::ask_again);
  run(*made, 60);
  EXPECT_EQ(suggestion("b")->ruling, RulingKind::not_done);
}

// If it fails for all of them, it is the source: nothing is learned, and nothing is lost.
TEST_F(RouteResolverTest, ASourceThatFailsForAllIsDown) {
  for (const char* key : {"a", "b"}) lose(key);
  Script script;
  const auto made = resolver(suggest, script);
  run(*made, 16);
  const Millis before = suggestion("a")->watched;
  EXPECT_GT(before, Millis{0});
  for (const char* key : {"a", "b"}) script.known[key] = {.said = SourceSaid::failed, .detail = "status 503"};
  run(*made, 200);
  EXPECT_EQ(made->counts().reached, false);
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_EQ(said_.front(), "resolver of /v1/payments: its source cannot be asked: status 503");
  EXPECT_EQ(suggestion("a")->watched, before);
  script.known.clear();
  run(*made, 2);
  EXPECT_EQ(suggestion("a")->ruling, RulingKind::ask_again);
  run(*made, 14);
  EXPECT_EQ(suggestion("a")->ruling, RulingKind::not_done);
}

// A suggestion is a row of bounded size: of a large answer it has no body, and says so; applied, it is kept whole.
TEST_F(RouteResolverTest, SaysThatAnAnswerIsTooLargeToSuggest) {
  lose("a");
  lose("b");
  Script script;
  script.known["a"] = found(std::string(suggested_body_bytes_max + 1, 'x'));
  script.known["b"] = found(std::string(suggested_body_bytes_max, 'x'));
  run(*resolver(suggest, script), 1);
  EXPECT_EQ(suggestion("a")->ruling, RulingKind::done);
  EXPECT_EQ(suggestion("a")->answer, nullptr);
  EXPECT_NE(suggestion("a")->why.find("its body is over 256 KiB"), std::string::npos) << suggestion("a")->why;
  ASSERT_NE(suggestion("b")->answer, nullptr);
  EXPECT_EQ(suggestion("b")->answer->body.size(), suggested_body_bytes_max);
  EXPECT_EQ(suggestion("b")->why, "the source has its answer, with status 201");
  run(*resolver(apply, script), 1);
  EXPECT_EQ(look("a").response->body.size(), suggested_body_bytes_max + 1);
}

// A gateway that starts anew goes on from what is written down, and does not watch from the start.
TEST_F(RouteResolverTest, GoesOnAfterARestart) {
  lose("b");
  Script script;
  run(*resolver(suggest, script), 16);
  EXPECT_EQ(suggestion("b")->watched, Millis{450'000});
  run(*resolver(suggest, script), 7);
  EXPECT_EQ(suggestion("b")->ruling, RulingKind::not_done);
}

// Two gateways with the same resolver: one settles, and the other finds that there is nothing to do.
TEST_F(RouteResolverTest, SettlesOnceOnTwoGateways) {
  lose("a");
  Script script;
  const auto one = resolver(apply, script);
  const auto other = resolver(apply, script);
  run(*one, 1);
  run(*other, 1);
  script.known["a"] = found("{}");
  run(*one, 25);
  run(*other, 25);
  EXPECT_EQ(look("a").state, Record::State::done);
  EXPECT_EQ(log().size(), 2U);
  EXPECT_EQ(one->counts().done + other->counts().done, 1U);
}

// Another attempt under the same key is watched from its own beginning.
TEST_F(RouteResolverTest, BeginsAnewWithAnotherAttempt) {
  lose("a");
  Script script;
  const auto made = resolver(suggest, script);
  run(*made, 21);
  const Key key = make_key("default", "", "a").value();
  const Terms terms{.lease = 1s, .ttl = 24h, .lapsed = Terms::Lapsed::taken_over, .owner = 99};
  const Fence fence = std::get<Granted>(*test::run(context_, opened_.store->claim(key, {}, terms))).fence;
  ASSERT_TRUE(test::run(context_, opened_.store->complete(key, fence, nullptr)));
  run(*made, 2);
  EXPECT_EQ(suggestion("a")->ruling, RulingKind::ask_again);
  EXPECT_LE(suggestion("a")->watched, Millis{60'000});
}

// A key whose text nobody noted cannot be asked about. It is counted, and nothing follows from it.
TEST_F(RouteResolverTest, LeavesAloneWhatItCannotAsk) {
  lose("a", false);
  Script script;
  const auto made = resolver(apply, script);
  run(*made, 30);
  EXPECT_EQ(script.asked, 0U);
  EXPECT_EQ(made->counts().unaskable, 1U);
  EXPECT_EQ(look("a").state, Record::State::unknown);
}

}  // namespace
}  // namespace semel::resolver
