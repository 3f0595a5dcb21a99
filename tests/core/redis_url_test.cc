// Addresses of Redis stores.

#include "core/redis_url.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace semel::core {
namespace {

using Setup = RedisUrl::Setup;

RedisUrl parsed(std::string_view text) {
  const Result<RedisUrl> url = parse_redis_url(text);
  EXPECT_TRUE(url) << text;
  return url ? *url : RedisUrl{};
}

// Every form that the header names.
TEST(RedisUrls, AreTakenApart) {
  const RedisUrl plain = parsed("redis://cache.example");
  EXPECT_EQ(plain.setup, Setup::single);
  EXPECT_EQ(plain.hosts, (std::vector<RedisHost>{{.host = "cache.example", .port = 6379}}));
  EXPECT_EQ(plain.database, 0U);
  const RedisUrl full = parsed("redis://us%40er:p%3Ass@[::1]:7000/3");
  EXPECT_EQ(full.user, "us@er");
  EXPECT_EQ(full.password, "p:ss");
  EXPECT_EQ(full.hosts, (std::vector<RedisHost>{{.host = "::1", .port = 7000}}));
  EXPECT_EQ(full.database, 3U);
  EXPECT_EQ(parsed("redis://:secret@h").password, "secret");
  const RedisUrl socket = parsed("redis:///run/redis/redis.sock?database=2");
  EXPECT_EQ(socket.socket, "/run/redis/redis.sock");
  EXPECT_EQ(socket.database, 2U);
  EXPECT_TRUE(socket.hosts.empty());
  EXPECT_EQ(parsed("redis://u:p@/run/s").user, "u");
  const RedisUrl tls = parsed("rediss://h?ca=/etc/ca.pem&cert=c.pem&key=k.pem");
  EXPECT_EQ(tls.privacy, RedisUrl::Privacy::encrypted);
  EXPECT_EQ(tls.ca + tls.cert + tls.key, "/etc/ca.pemc.pemk.pem");
  const RedisUrl sentinels = parsed("redis+sentinel://a,b:1,c/main/1");
  EXPECT_EQ(sentinels.setup, Setup::sentinel);
  EXPECT_EQ(sentinels.name, "main");
  EXPECT_EQ(sentinels.database, 1U);
  EXPECT_EQ(
      sentinels.hosts,
      (std::vector<RedisHost>{{.host = "a", .port = 26379}, {.host = "b", .port = 1}, {.host = "c", .port = 26379}}));
  EXPECT_EQ(parsed("redis+cluster://a,b").setup, Setup::cluster);
}

// What cannot be meant is refused, and the message repeats no password.
TEST(RedisUrls, AreRefused) {
  for (const std::string_view wrong : {"http://h",
                                       "redis://",
                                       "redis:///",
                                       "redis:///3",
                                       "redis://a,b",
                                       "redis://h:0",
                                       "redis://h:70000",
                                       "redis://h:",
                                       "redis://h:x",
                                       "redis://h/x",
                                       "redis://user@h",
                                       "redis://u:p%4@h",
                                       "redis://h?ca=x",
                                       "rediss:///run/s",
                                       "rediss://h?cert=c",
                                       "redis://h?x=1",
                                       "redis+sentinel://a",
                                       "redis+cluster://a/1",
                                       "redis://[::1",
                                       "redis://,a",
                                       "redis://[::1]7",
                                       "redis+cluster://a,",
                                       "redis://u:hunter2@h:x"}) {
    const Result<RedisUrl> url = parse_redis_url(wrong);
    EXPECT_FALSE(url) << wrong;
    if (!url) EXPECT_EQ(url.error().detail.find("hunter2"), std::string::npos);
  }
}

}  // namespace
}  // namespace semel::core
