// Sessions of the dashboard: how long they last, and what ends them.
#include "admin/sign_in.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "admin/caller.h"
#include "config/config.h"
#include "core/field_view.h"
#include "policy/request_view.h"
#include "reading/secret.h"
#include <semel/clock.h>

namespace semel::admin {
namespace {

const Time noon = Time(Millis(1'800'000'000'000));

config::AdminConfig with_tokens() {
  config::AdminConfig config;
  config.viewer = reading::Secret("see");
  config.token = reading::Secret("all");
  return config;
}

// A request to `host` with this cookie.
struct Sent {
  Sent(std::string_view host, std::string cookie) : line(std::move(cookie)) {
    fields = {{.name = "Host", .value = host}, {.name = "Cookie", .value = line}};
    request.fields = fields;
  }
  std::string line;
  std::vector<FieldView> fields;
  policy::RequestView request;
};

std::optional<SignedIn> seen(const SignIns& sign_ins, const std::string& value, Time at,
                             const config::AdminConfig& config = with_tokens()) {
  const Sent sent("localhost:9080", "semel-9080=" + value);
  return sign_ins.of(sent.request, at, config);
}

// Goal: a session is its token's, for twelve hours to the millisecond.
TEST(SignIn, LastsForTwelveHours) {
  const SignIns sign_ins("key");
  EXPECT_FALSE(sign_ins.begin("nothing", "", noon, with_tokens()));
  EXPECT_FALSE(sign_ins.begin("", "", noon, with_tokens())) << "an empty token is none, not that of an unset role";
  const auto value = sign_ins.begin("all", "Robin", noon, with_tokens());
  ASSERT_TRUE(value);
  const auto session = seen(sign_ins, *value, noon);
  ASSERT_TRUE(session);
  EXPECT_EQ(session->role, Role::admin);
  EXPECT_EQ(session->name, "Robin");
  EXPECT_EQ(session->until - noon, Millis(43'200'000));
  EXPECT_TRUE(seen(sign_ins, *value, session->until - Millis(1)));
  EXPECT_FALSE(seen(sign_ins, *value, session->until));
}

// Goal: a restart has another key, and a changed token ends its sessions and no others.
TEST(SignIn, EndsWithItsKeyAndItsToken) {
  const SignIns sign_ins("key");
  const std::string viewer = *sign_ins.begin("see", "", noon, with_tokens());
  const std::string admin = *sign_ins.begin("all", "", noon, with_tokens());
  EXPECT_FALSE(seen(SignIns("other"), viewer, noon));
  config::AdminConfig changed = with_tokens();
  changed.viewer = reading::Secret("new");
  EXPECT_FALSE(seen(sign_ins, viewer, noon, changed));
  EXPECT_TRUE(seen(sign_ins, admin, noon, changed));
  changed.viewer = reading::Secret();
  EXPECT_FALSE(seen(sign_ins, viewer, noon, changed));
}

// Goal: signing out counts however many others have done so. A viewer can sign in and out ten thousand times in a
// second; what that ends are sessions, never the end of one.
TEST(SignIn, EndsAlsoAfterTenThousandOthers) {
  SignIns sign_ins("key");
  const std::string old = *sign_ins.begin("all", "", noon, with_tokens());
  const auto sign_out = [&](const std::string& value, Time at) {
    const auto session = seen(sign_ins, value, at);
    ASSERT_TRUE(session);
    sign_ins.end(*session, at);
  };
  std::string first;
  for (int i = 0; i < 10'000; ++i) {
    const std::string value = *sign_ins.begin("see", "", noon, with_tokens());
    if (i == 0) first = value;
    sign_out(value, noon);
  }
  EXPECT_TRUE(seen(sign_ins, old, noon));
  const Time later = noon + Millis(1);
  const std::string mine = *sign_ins.begin("all", "", later, with_tokens());
  const std::string others = *sign_ins.begin("all", "", later, with_tokens());
  sign_out(mine, later);
  EXPECT_FALSE(seen(sign_ins, mine, later));
  EXPECT_FALSE(seen(sign_ins, first, later));
  EXPECT_FALSE(seen(sign_ins, old, later));
  EXPECT_TRUE(seen(sign_ins, others, later));
}

// Goal: who signs out is out, also with a copy of the cookie; others stay.
TEST(SignIn, EndsOnlyTheOneThatIsSignedOut) {
  SignIns sign_ins("key");
  const std::string one = *sign_ins.begin("see", "", noon, with_tokens());
  const std::string two = *sign_ins.begin("see", "", noon, with_tokens());
  sign_ins.end(*seen(sign_ins, one, noon), noon);
  EXPECT_FALSE(seen(sign_ins, one, noon));
  EXPECT_TRUE(seen(sign_ins, two, noon));
}

// Goal: away from this machine the cookie needs TLS, whatever the address looks like.
TEST(SignIn, NamesItsCookieByWhereTheBrowserIs) {
  const auto field = [](std::string_view host) { return cookie_field(Sent(host, "").request, "v"); };
  EXPECT_TRUE(field("127.0.0.1:9080").starts_with("semel-9080=v;"));
  EXPECT_TRUE(field("localhost").starts_with("semel=v;"));
  EXPECT_TRUE(field("[::1]:9080").starts_with("semel-9080=v;"));
  for (const std::string_view host : {"10.0.0.5:9080", "ops.example.com", "127.evil.example:9080", "", "[::2]:1"}) {
    EXPECT_TRUE(field(host).starts_with("__Host-semel=v;")) << host;
    EXPECT_TRUE(field(host).ends_with("; Secure")) << host;
  }
}

}  // namespace
}  // namespace semel::admin
