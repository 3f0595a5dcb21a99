// What `semel hammer` takes and what it refuses.
#include "cli/hammer/options.h"

#include <string>

#include <gtest/gtest.h>

namespace semel::cli {
namespace {

HammerArguments at(std::string url) {
  HammerArguments arguments;
  arguments.url = std::move(url);
  return arguments;
}

std::string refusal(const HammerArguments& arguments) {
  const auto options = check_arguments(arguments);
  return options ? std::string() : options.error().detail;
}

// Goal: the target is taken apart as an HTTP request needs it, query and all.
TEST(HammerOptions, TakesAUrlApart) {
  const auto options = check_arguments(at("http://localhost:8080/v1/payments?a=b/c"));
  ASSERT_TRUE(options);
  EXPECT_EQ(options->target.authority.host, "localhost");
  EXPECT_EQ(options->target.authority.port, 8080);
  EXPECT_EQ(options->target.host, "localhost:8080");
  EXPECT_EQ(options->target.target, "/v1/payments?a=b/c");
  EXPECT_EQ(check_arguments(at("http://127.0.0.1"))->target.target, "/");
  EXPECT_EQ(check_arguments(at("http://127.0.0.1/a#b?c"))->target.target, "/a");
}

// Goal: a load tool fires at no stranger, neither by the target nor by the URL of the effects.
TEST(HammerOptions, RefusesAnotherMachineUnlessItIsTheUsersOwn) {
  HammerArguments arguments = at("http://10.1.2.3/v1/payments");
  EXPECT_NE(refusal(arguments).find("--i-own-this-target"), std::string::npos);
  arguments.own_target = true;
  EXPECT_EQ(refusal(arguments), "");
  HammerArguments effects = at("http://127.0.0.1:8080/");
  effects.effects = "http://example.com/effects";
  EXPECT_NE(refusal(effects).find("--i-own-this-target"), std::string::npos);
  EXPECT_NE(refusal(at("http://127.0.0.1.example.com/")), "");
}

TEST(HammerOptions, RefusesUrlsThatItCannotCall) {
  HammerArguments secure = at("https://127.0.0.1/");
  EXPECT_EQ(refusal(secure), "");
  secure.ca = "/nonexistent/ca.pem";
  EXPECT_NE(refusal(secure).find("/nonexistent/ca.pem"), std::string::npos);
  EXPECT_NE(refusal(at("127.0.0.1:8080/v1")), "");
  EXPECT_NE(refusal(at("http://127.0.0.1/a b")), "");
}

// Goal: every run is bounded.
TEST(HammerOptions, BoundsEveryNumber) {
  HammerArguments many = at("http://127.0.0.1/");
  many.keys = 1'000'000;
  many.duplicates = 25;
  EXPECT_NE(refusal(many).find("too many"), std::string::npos);
  HammerArguments none = at("http://127.0.0.1/");
  none.keys = 0;
  EXPECT_NE(refusal(none), "");
  HammerArguments connections = at("http://127.0.0.1/");
  connections.connections = 10'001;
  EXPECT_NE(refusal(connections), "");
  HammerArguments cut = at("http://127.0.0.1/");
  cut.cut_percent = 91;
  EXPECT_NE(refusal(cut), "");
  HammerArguments patience = at("http://127.0.0.1/");
  patience.patience_seconds = 0;
  EXPECT_NE(refusal(patience), "");
  HammerArguments time = at("http://127.0.0.1/");
  time.time_limit_seconds = 3'601;
  EXPECT_NE(refusal(time), "");
}

// Goal: a rate is for one key, as many requests as fit into its time.
TEST(HammerOptions, TurnsARateIntoRequestsOfOneKey) {
  HammerArguments arguments = at("http://127.0.0.1/");
  arguments.rate = 200;
  EXPECT_NE(refusal(arguments).find("--seconds"), std::string::npos);
  arguments.seconds = 10;
  const auto options = check_arguments(arguments);
  ASSERT_TRUE(options);
  EXPECT_EQ(options->keys, 1U);
  EXPECT_EQ(options->calls, 2'000U);
}

// Goal: all duplicates of a key fit on the connections, and a few of the next key.
TEST(HammerOptions, HasConnectionsForAllDuplicatesByDefault) {
  HammerArguments arguments = at("http://127.0.0.1/");
  EXPECT_EQ(check_arguments(arguments)->connections, 50U);
  arguments.duplicates = 2'000;
  EXPECT_EQ(check_arguments(arguments)->connections, 512U);
  arguments.connections = 7;
  EXPECT_EQ(check_arguments(arguments)->connections, 7U);
}

// Goal: a header is a name and a value; those that frame the request are not the user's, and none can smuggle a line.
TEST(HammerOptions, ReadsHeaders) {
  HammerArguments arguments = at("http://127.0.0.1/");
  arguments.headers = {"Authorization: Bearer a:b", "X-Empty:"};
  const auto options = check_arguments(arguments);
  ASSERT_TRUE(options);
  EXPECT_EQ(options->fields, (std::vector<Field>{{"Authorization", "Bearer a:b"}, {"X-Empty", ""}}));
  for (const char* bad : {"no colon", "content-length: 3", "Transfer-Encoding: chunked", "A: b\r\nC: d", ": x"}) {
    arguments.headers = {bad};
    EXPECT_NE(refusal(arguments), "") << bad;
  }
}

// Goal: a key has a body of its own, wherever the template says so.
TEST(HammerOptions, PutsTheKeyIntoTheBody) {
  EXPECT_EQ(body_for(R"({"order":{n},"key":"{key}","n":{n}})", 7, "k-7"), R"({"order":7,"key":"k-7","n":7})");
  EXPECT_EQ(body_for("{nothing} {n", 7, "k"), "{nothing} {n");
}

// Goal: another body is another request to everybody, and JSON stays JSON.
TEST(HammerOptions, MakesAnotherBody) {
  EXPECT_EQ(another_body(R"({"amount":1})"), R"({"amount":1,"another":true})");
  EXPECT_EQ(another_body("{}"), R"({"another":true})");
  EXPECT_EQ(another_body("{ \n} \n"), "{ \n\"another\":true}");
  EXPECT_EQ(another_body(""), "another");
  EXPECT_EQ(another_body("a=b"), "a=banother");
}

}  // namespace
}  // namespace semel::cli
