// The operators' listener: who is answered, what, and in which order that is decided.
#include "admin/admin.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "admin/answers.h"
#include "admin/sources.h"
#include "config/config.h"
#include "core/field_view.h"
#include "gateway/plan.h"
#include "http/transaction.h"
#include "policy/host.h"
#include "reading/secret.h"
#include "store/capable_store.h"
#include "store/memory.h"
#include "support/fake_transaction.h"
#include "support/run.h"
#include "support/virtual_clock.h"
#include <semel/async.h>

namespace semel::admin {
namespace {

// A listener with sources that a test sets.
class Listener {
 public:
  Listener() {
    config_->limits.body_bytes = 100;
    config_->server.hosts = {*policy::parse_host_pattern("ops.example.com")};
  }

  void set_token(std::string token) { config_->admin.token = reading::Secret(std::move(token)); }
  void need_store_only() { config_->admin.ready_needs = config::ReadyNeeds::store; }
  void set_roles() {
    config_->admin.viewer = reading::Secret("see");
    config_->admin.operates = reading::Secret("act");
  }

  struct Answer {
    std::uint16_t status = 0;
    std::string head;
    std::string body;
    bool closes = false;
  };
  Answer ask(std::string_view method, std::string_view target, std::vector<FieldView> fields, std::string body = "") {
    Admin admin({.store = *opened_.store,
                 .reopening = opened_.reopening,
                 .config = [this] { return config_; },
                 .metrics = [] { return "semel_build_info 1\n"; },
                 .upstreams = [this] { return state_of(upstream_trouble); },
                 .draining = [this] { return draining; },
                 .forget = [this](Key key) { return forget(&forgotten, std::move(key)); },
                 .forgotten_within = Millis{5'000},
                 .desk = opened_.desk,
                 .audit = opened_.audit,
                 .now = [this] { return clock_.now(); }},
                exposure);
    test::FakeTransaction client(context_.get_executor(), method, target, std::move(fields), std::move(body));
    test::run(context_, handled(&admin, &client));
    return {.status = client.status_sent(),
            .head = client.received().head,
            .body = client.received().body,
            .closes = client.closes()};
  }

  // How many the store holds.
  std::size_t keys() { return test::run(context_, opened_.desk->find("", 100))->size(); }

  std::string upstream_trouble;
  bool draining = false;
  std::vector<Key> forgotten;  // that an operator has changed
  Exposure exposure = Exposure::loopback;

 private:
  static Task<bool> handled(Admin* admin, http::Transaction* client) {
    co_await admin->handle(*client);
    co_return true;
  }
  static Task<std::vector<gateway::UpstreamState>> state_of(std::string trouble) {
    std::vector<gateway::UpstreamState> states{{.name = "app", .trouble = std::move(trouble)},
                                               {.name = "b", .trouble = {}}};
    co_return states;
  }
  static Task<void> forget(std::vector<Key>* forgotten, Key key) {
    forgotten->push_back(std::move(key));
    co_return;
  }

  boost::asio::io_context context_{1};
  test::VirtualClock clock_;
  store::CapableStore opened_ = store::make_capable_memory_store(clock_);
  std::shared_ptr<config::Config> config_ = std::make_shared<config::Config>();
};

std::vector<FieldView> with_host(std::string_view host) {
  return {{.name = "Host", .value = host}};
}

std::vector<FieldView> with(std::string_view authorization) {
  return {{.name = "Host", .value = "localhost"}, {.name = "authorization", .value = authorization}};
}

std::string problem(std::uint16_t status, std::string_view detail) {
  return error_answer(status, detail).body;
}

const std::vector<FieldView> here = with_host("localhost");
const std::vector<FieldView> with_token = with("Bearer sesame");

bool has_field(const Listener::Answer& answer, std::string_view line) {
  return answer.head.find("\r\n" + std::string(line) + "\r\n") != std::string::npos;
}

// Goal: the pages that everybody may see, as tools know them.
TEST(Admin, AnswersWithItsPages) {
  Listener listener;
  const Listener::Answer health = listener.ask("GET", "/healthz", here);
  EXPECT_EQ(health.status, 200);
  EXPECT_EQ(health.body, R"({"status":"alive"})");
  EXPECT_TRUE(has_field(health, "Content-Type: application/json")) << health.head;
  EXPECT_TRUE(has_field(health, "Cache-Control: no-store")) << health.head;
  const Listener::Answer metrics = listener.ask("GET", "/metrics?a=b", here);
  EXPECT_EQ(metrics.status, 200);
  EXPECT_EQ(metrics.body, "semel_build_info 1\n");
  EXPECT_TRUE(has_field(metrics, "Content-Type: text/plain; version=0.0.4; charset=utf-8")) << metrics.head;
  EXPECT_EQ(listener.ask("GET", "/nothing", here).body, problem(404, "no such page"));
}

// Goal: ready means that a key can be written and every upstream is reached; a gateway that drains says so at once.
TEST(Admin, SaysWhetherItIsReady) {
  Listener listener;
  const Listener::Answer ready = listener.ask("GET", "/readyz", here);
  EXPECT_EQ(ready.status, 200);
  EXPECT_EQ(ready.body,
            R"({"ready":true,"needs":"all","store":"writable","upstreams":{"app":"reachable","b":"reachable"}})");
  listener.upstream_trouble = "cannot be reached: \"\xff";
  const Listener::Answer down = listener.ask("GET", "/readyz", here);
  EXPECT_EQ(down.status, 503);
  EXPECT_EQ(down.body, R"({"ready":false,"needs":"all","store":"writable",)"
                       R"("upstreams":{"app":"cannot be reached: \"\u00ff","b":"reachable"}})");
  listener.need_store_only();
  const Listener::Answer enough = listener.ask("GET", "/readyz", here);
  EXPECT_EQ(enough.status, 200);
  EXPECT_EQ(enough.body, R"({"ready":true,"needs":"store","store":"writable"})");
  listener.draining = true;
  const Listener::Answer leaving = listener.ask("GET", "/readyz", here);
  EXPECT_EQ(leaving.status, 503);
  EXPECT_EQ(leaving.body, R"({"ready":false,"draining":true})");
}

// Goal: each time something is written, so that a disk that has become full is noticed.
TEST(Admin, WritesAKeyEachTimeItIsAsked) {
  Listener listener;
  for (std::size_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(listener.ask("GET", "/readyz", here).status, 200);
    EXPECT_EQ(listener.keys(), i);
  }
}

// Goal: with a token in the configuration, everything but health asks for it, also pages that do not exist.
TEST(Admin, AsksForTheToken) {
  Listener listener;
  listener.set_token("sesame");
  for (const std::string_view path : {"/healthz", "/readyz"}) EXPECT_EQ(listener.ask("GET", path, here).status, 200);
  for (const std::string_view path : {"/metrics", "/nothing", "/v1/webhooks/reopen"}) {
    const Listener::Answer answer = listener.ask("GET", path, here);
    EXPECT_EQ(answer.status, 401) << path;
    EXPECT_EQ(answer.body, problem(401, "send Authorization: Bearer TOKEN"));
  }
  EXPECT_EQ(listener.ask("GET", "/metrics", with_token).status, 200);
  EXPECT_EQ(listener.ask("GET", "/nothing", with_token).status, 404);
  for (const std::string_view wrong : {"Bearer sesam", "Bearer sesame2", "Bearer ", "sesame", "bearer sesame"}) {
    EXPECT_EQ(listener.ask("GET", "/metrics", with(wrong)).status, 401) << wrong;
  }
}

// Goal: what changes keys needs a token in the configuration, and then in the request; only then is a body read.
TEST(Admin, ChangesNothingWithoutTheToken) {
  Listener listener;
  EXPECT_EQ(listener.ask("POST", "/v1/webhooks/reopen", with_token).status, 403);
  listener.set_token("sesame");
  EXPECT_EQ(listener.ask("POST", "/v1/webhooks/reopen", here, std::string(200, 'x')).status, 401);
  const Listener::Answer large = listener.ask("POST", "/v1/webhooks/reopen", with_token, std::string(200, 'x'));
  EXPECT_EQ(large.status, 400);
  EXPECT_EQ(large.body, problem(400, "the body cannot be read"));
  EXPECT_TRUE(large.closes);
  const Listener::Answer unknown = listener.ask("POST", "/v1/webhooks/reopen?path=/x", with_token, "{}");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_EQ(unknown.body, problem(400, "no webhook at ?path=, or the event in the body has no id"));
}

// Goal: a token has a role, and what needs a higher one says so; the token of before is that of an admin.
TEST(Admin, KnowsRolesByTheirTokens) {
  Listener listener;
  listener.set_roles();
  const std::string resolve = "/v1/keys/" + std::string(64, 'a') + "/resolve";
  EXPECT_EQ(listener.ask("GET", "/v1/keys", with("Bearer see")).status, 200);
  EXPECT_EQ(listener.ask("GET", "/v1/keys", with("Bearer act")).status, 200);
  EXPECT_EQ(listener.ask("POST", resolve, with("Bearer act"), "{}").status, 400);
  const Listener::Answer lesser = listener.ask("POST", resolve, with("Bearer see"), "{}");
  EXPECT_EQ(lesser.status, 403);
  EXPECT_NE(lesser.body.find("the role operator"), std::string::npos) << lesser.body;
  const Listener::Answer nobody = listener.ask("GET", "/v1/keys", here);
  EXPECT_EQ(nobody.status, 401);
  EXPECT_TRUE(has_field(nobody, "WWW-Authenticate: Bearer realm=\"semel\"")) << nobody.head;
  EXPECT_TRUE(nobody.body.ends_with("}\n")) << nobody.body;
  EXPECT_EQ(listener.ask("GET", "/v1/keys", with_token).status, 401);
  listener.set_token("sesame");
  EXPECT_EQ(listener.ask("POST", resolve, with_token, "{}").status, 400);
}

// Goal: a browser that shows a page of another origin cannot change anything, even with the token.
TEST(Admin, RefusesWhatAPageOfAnotherOriginSends) {
  Listener listener;
  listener.set_token("sesame");
  const std::string reopen = "/v1/keys/" + std::string(64, 'a') + "/reopen";
  for (const FieldView& sign : {FieldView{.name = "Origin", .value = "https://evil.example"},
                                FieldView{.name = "Sec-Fetch-Site", .value = "cross-site"}}) {
    std::vector<FieldView> fields = with_token;
    fields.push_back(sign);
    EXPECT_EQ(listener.ask("POST", reopen, fields, "{}").status, 403) << sign.name;
    EXPECT_EQ(listener.ask("GET", "/v1/keys", fields).status, 200) << "reading does no harm";
  }
  std::vector<FieldView> own = with_token;
  own.push_back({.name = "Origin", .value = "http://localhost"});
  EXPECT_EQ(listener.ask("POST", reopen, own, "{}").status, 400);
}

// Goal: a method that a page does not take is refused with those that it does, whether there is a token or not.
TEST(Admin, RefusesOtherMethods) {
  Listener listener;
  listener.set_token("sesame");
  const std::vector<std::pair<std::string_view, std::string_view>> cases{
      {"/metrics", "GET, HEAD"}, {"/healthz", "GET, HEAD"}, {"/nothing", "GET, HEAD"}};
  for (const auto& [path, allowed] : cases) {
    const Listener::Answer answer = listener.ask("POST", path, here);
    EXPECT_EQ(answer.status, 405) << path;
    EXPECT_EQ(answer.body, problem(405, "only GET here"));
    EXPECT_TRUE(has_field(answer, "Allow: " + std::string(allowed))) << answer.head;
  }
  const Listener::Answer reopen = listener.ask("DELETE", "/v1/webhooks/reopen", here);
  EXPECT_EQ(reopen.status, 405);
  EXPECT_EQ(reopen.body, problem(405, "only POST here"));
  EXPECT_TRUE(has_field(reopen, "Allow: POST")) << reopen.head;
  EXPECT_EQ(listener.ask("GET", "/v1/webhooks/reopen", with_token).status, 404);
}

// Goal: a page in a browser that calls the loopback by a name of its own gets nothing, before all else.
TEST(Admin, AnswersToItsOwnNamesOnly) {
  Listener listener;
  for (const std::string_view host : {"127.0.0.1:9080", "localhost", "[::1]:9080", "ops.example.com"}) {
    EXPECT_EQ(listener.ask("GET", "/healthz", with_host(host)).status, 200) << host;
  }
  for (const std::string_view path : {"/healthz", "/readyz", "/metrics", "/nothing"}) {
    const Listener::Answer answer = listener.ask("GET", path, with_host("evil.example"));
    EXPECT_EQ(answer.status, 421) << path;
    EXPECT_EQ(answer.body, problem(421, "not a name of this listener; add it to server.hosts"));
    EXPECT_EQ(listener.ask("POST", path, with_host("evil.example")).status, 421) << path;
  }
  listener.exposure = Exposure::network;
  EXPECT_EQ(listener.ask("GET", "/healthz", with_host("evil.example")).status, 200);
}

}  // namespace
}  // namespace semel::admin
