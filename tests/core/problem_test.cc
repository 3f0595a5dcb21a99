// What a client is told, row by row of the contract: status, slug and advice, and words that fit the advice.

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ostream>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <semel/problem.h>

namespace semel::core {
namespace {

struct Row {
  ProblemType type;
  std::uint16_t status;
  std::string_view slug;
  Problem::Retry retry;
  std::string_view advice;
};

// clang-format off
constexpr Row contract[] = {
    {ProblemType::key_missing,          400, "key-missing",          Problem::Retry::new_key,  "new-key"},
    {ProblemType::key_invalid,          400, "key-invalid",          Problem::Retry::new_key,  "new-key"},
    {ProblemType::scope_missing,        401, "scope-missing",        Problem::Retry::never,    "never"},
    {ProblemType::signature_invalid,    401, "signature-invalid",    Problem::Retry::never,    "never"},
    {ProblemType::in_flight,            409, "in-flight",            Problem::Retry::same_key, "same-key"},
    {ProblemType::outcome_unknown,      409, "outcome-unknown",      Problem::Retry::never,    "never"},
    {ProblemType::body_too_large,       413, "body-too-large",       Problem::Retry::never,    "never"},
    {ProblemType::key_reused,           422, "key-reused",           Problem::Retry::new_key,  "new-key"},
    {ProblemType::rate_limited,         429, "rate-limited",         Problem::Retry::same_key, "same-key"},
    {ProblemType::quota_exceeded,       429, "quota-exceeded",       Problem::Retry::same_key, "same-key"},
    {ProblemType::upstream_unreachable, 502, "upstream-unreachable", Problem::Retry::same_key, "same-key"},
    {ProblemType::store_unavailable,    503, "store-unavailable",    Problem::Retry::same_key, "same-key"},
    {ProblemType::record_corrupt,       500, "record-corrupt",       Problem::Retry::never,    "never"},
    {ProblemType::no_route,             404, "no-route",             Problem::Retry::never,    "never"},
    {ProblemType::misdirected,          421, "misdirected",          Problem::Retry::never,    "never"},
};
// clang-format on

// Gives a row the name of its slug, as one word.
std::string row_name(const testing::TestParamInfo<Row>& info) {
  std::string name;
  bool upper = true;
  for (const char c : info.param.slug) {
    if (c != '-') name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '-';
  }
  return name;
}

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.slug;
}

class ProblemContract : public testing::TestWithParam<Row> {};

// The status, the end of the type's URN and the advice are those of the contract.
TEST_P(ProblemContract, HasTheStatusSlugAndAdviceOfTheContract) {
  const Row& row = GetParam();
  const Problem problem = Problem::of(row.type);
  EXPECT_EQ(problem.type, row.type);
  EXPECT_EQ(problem.status, row.status);
  EXPECT_EQ(problem.retry, row.retry);
  EXPECT_EQ(Problem::of(row.type).slug(), row.slug);
  EXPECT_EQ(Problem::name(problem.retry), row.advice);
}

// The words are there, on one line, and say nothing that a JSON string or a header could not carry.
TEST_P(ProblemContract, HasWordsOnOneLine) {
  const Problem problem = Problem::of(GetParam().type);
  for (const std::string_view words : {problem.title(), problem.detail()}) {
    EXPECT_FALSE(words.empty());
    for (const char c : words) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << words;
  }
  EXPECT_LE(problem.title().size(), 60U);
  EXPECT_EQ(problem.detail().back(), '.');
}

// What the words advise is what `retry` advises: "same key" is written where the same key is to be used.
TEST_P(ProblemContract, AdvisesInWordsWhatRetrySays) {
  const Problem problem = Problem::of(GetParam().type);
  const bool says_same_key = problem.detail().find("same key") != std::string_view::npos;
  EXPECT_EQ(says_same_key, problem.retry == Problem::Retry::same_key) << problem.detail();
  const bool says_fresh = problem.detail().find("fresh") != std::string_view::npos ||
                          problem.detail().find("Send one key") != std::string_view::npos;
  EXPECT_EQ(says_fresh, problem.retry == Problem::Retry::new_key) << problem.detail();
}

INSTANTIATE_TEST_SUITE_P(Contract, ProblemContract, testing::ValuesIn(contract), row_name);

// No two problems share a slug or a title: a client tells them apart by either.
TEST(Problem, SlugsAndTitlesAreUnique) {
  std::set<std::string_view> slugs;
  std::set<std::string_view> titles;
  for (const Row& row : contract) {
    slugs.insert(Problem::of(row.type).slug());
    titles.insert(Problem::of(row.type).title());
  }
  EXPECT_EQ(slugs.size(), std::size(contract));
  EXPECT_EQ(titles.size(), std::size(contract));
}

// The table above has every type, in the order in which they are declared, and ends with the last.
TEST(Problem, EveryTypeHasItsRow) {
  for (std::size_t i = 0; i < std::size(contract); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(contract[i].type), i);
  }
  EXPECT_DEATH((void)Problem::of(static_cast<ProblemType>(std::size(contract))), "every problem type has its row");
}

// An unknown outcome that will be settled tells its caller to come back; one that is held tells it not to.
TEST(Problem, OutcomeUnknownSpeaksByItsAdvice) {
  Problem problem = Problem::of(ProblemType::outcome_unknown);
  const std::string held(problem.detail());
  problem.retry = Problem::Retry::same_key;
  const std::string retried(problem.detail());
  EXPECT_NE(held, retried);
  EXPECT_NE(retried.find("same key"), std::string::npos);
  EXPECT_EQ(held.find("Retry-After"), std::string::npos);
  EXPECT_NE(retried.find("Retry-After"), std::string::npos);
}

// A problem that nobody has filled in closes the door: the store is not available, and nothing ran.
TEST(Problem, DefaultFailsClosed) {
  const Problem problem;
  EXPECT_EQ(problem.type, ProblemType::store_unavailable);
  EXPECT_EQ(problem.status, 503);
  EXPECT_EQ(problem.retry, Problem::Retry::same_key);
}

// The caller whose own attempt was cut off is told of this attempt; a later one of an earlier attempt.
TEST(ProblemTest, TellsWhoseAttemptWasCutOff) {
  Problem later = Problem::of(ProblemType::outcome_unknown);
  Problem own = later;
  own.status = 502;
  EXPECT_TRUE(own.detail().starts_with("This attempt")) << own.detail();
  EXPECT_TRUE(later.detail().starts_with("An earlier attempt")) << later.detail();
  own.retry = later.retry = Problem::Retry::same_key;
  EXPECT_TRUE(own.detail().starts_with("This attempt")) << own.detail();
  EXPECT_TRUE(later.detail().starts_with("An attempt")) << later.detail();
  EXPECT_NE(own.detail().find("Retry-After"), std::string_view::npos);
}

}  // namespace
}  // namespace semel::core
