// What rows of a query say about keys.
#include "resolver/answer_rows.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "resolver/ruling.h"
#include "resolver/source.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::resolver {
namespace {

Digest id_of(const std::string& scope, const std::string& key) {
  return make_key("default", scope, key).value().id;
}

AnswerRules rules() {
  AnswerRules made;
  made.name = [](const std::string& scope, const std::string& key) -> std::optional<Digest> {
    return id_of(scope, key);
  };
  made.store_body_max = 1'000;
  made.replayed_header = "Idempotent-Replayed";
  return made;
}

KeyQuestion question(const std::string& scope, const std::string& key) {
  return {.id = id_of(scope, key), .key = key, .target = {}};
}

AnswerRow row(const std::string& scope, const std::string& key, std::optional<std::string> status,
              const std::string& body = "{}") {
  return {.key = key, .status = std::move(status), .body = body, .scope = scope, .content_type = std::nullopt};
}

std::vector<SourceSaid> said(const std::vector<KeyQuestion>& questions, const std::vector<AnswerRow>& rows) {
  std::vector<SourceSaid> all;
  for (const Testimony& each : testify(questions, rows, rules(), Millis{5})) {
    EXPECT_EQ(each.lag, Millis{5});
    all.push_back(each.said);
  }
  return all;
}

using Said = std::vector<SourceSaid>;

// A row is the answer of the key that it is about, with its status, its body and a type.
TEST(AnswerRows, AreAnswers) {
  const std::vector<Testimony> all = testify(std::vector{question("a", "k1"), question("a", "k2")},
                                             std::vector{row("a", "k1", "201", "{\"id\":1}")}, rules(), Millis{0});
  ASSERT_EQ(all.size(), 2U);
  ASSERT_EQ(all[0].said, SourceSaid::found);
  EXPECT_EQ(all[0].answer->status, 201);
  EXPECT_EQ(all[0].answer->body, "{\"id\":1}");
  ASSERT_EQ(all[0].answer->fields.size(), 1U);
  EXPECT_EQ(all[0].answer->fields[0].value, "application/json");
  EXPECT_EQ(all[1].said, SourceSaid::absent);
}

// A row without a status has been begun, and not ended.
TEST(AnswerRows, MayBePending) {
  EXPECT_EQ(said({question("a", "k")}, {row("a", "k", std::nullopt)}), Said{SourceSaid::pending});
}

// The row of another tenant with the same key is neither the answer nor a proof of absence. Asked together, each gets
// its own.
TEST(AnswerRows, BelongToOneTenant) {
  EXPECT_EQ(said({question("a", "k")}, {row("b", "k", "201")}), Said{SourceSaid::contradictory});
  EXPECT_EQ(said({question("a", "k"), question("b", "k")}, {row("b", "k", "201"), row("a", "k", "402")}),
            (Said{SourceSaid::found, SourceSaid::found}));
  EXPECT_EQ(said({question("a", "k")}, {row("", "k", "201")}), Said{SourceSaid::contradictory});
}

// Two rows for one key, a status that is none, and a status that the route would not keep are for a person.
TEST(AnswerRows, MayContradict) {
  EXPECT_EQ(said({question("a", "k")}, {row("a", "k", "201"), row("a", "k", "201")}), Said{SourceSaid::contradictory});
  for (const char* status : {"", "ok", "99", "600", "201 ", "503", "504"}) {
    EXPECT_EQ(said({question("a", "k")}, {row("a", "k", status)}), Said{SourceSaid::contradictory}) << status;
  }
}

// A row for a key that was not asked for may be the answer to one that was, written in another way. So nothing is
// absent then.
TEST(AnswerRows, MakeAbsenceDoubtfulIfTheyAreStrange) {
  EXPECT_EQ(said({question("a", "K1"), question("a", "k2")}, {row("a", "k1", "201")}),
            (Said{SourceSaid::unclear, SourceSaid::unclear}));
  AnswerRow nameless = row("a", "k", "201");
  nameless.key.reset();
  EXPECT_EQ(said({question("a", "k")}, {nameless}), Said{SourceSaid::unclear});
}

}  // namespace
}  // namespace semel::resolver
