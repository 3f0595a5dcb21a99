// What is missing is found by the order of expiry, also where that is an index on disk.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "auditor/comparison.h"
#include "auditor/key_look.h"
#include "auditor/window.h"
#include "config/audit.h"
#include "core/encoding.h"
#include "store/capable_store.h"
#include "store/embedded/store.h"
#include "store/key_roll.h"
#include "support/run.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace semel::test {
namespace {

class AuditEmbedded : public testing::Test {
 protected:
  AuditEmbedded() {
    std::string pattern = (std::filesystem::temp_directory_path() / "semel-audit-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder: " + pattern);
    folder_ = pattern;
    EmbeddedOptions options;
    options.path = folder_ / "data";
    Result<store::CapableStore> opened = store::embedded::open_with_keys(*clock_, options, {});
    if (!opened) throw std::runtime_error(opened.error().detail);
    store_ = *std::move(opened);
  }
  ~AuditEmbedded() override {
    store_.store.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  Key key(const std::string& text, bool done = true) {
    Key made = make_key("default", "acme", text).value();
    Terms terms;
    terms.owner = ++owners_;
    const Fence fence = std::get<Granted>(test::run(store_.store->claim(made, {}, terms)).value()).fence;
    auto answer = std::make_shared<Response>();
    answer->status = 201;
    EXPECT_TRUE(test::run(store_.store->complete(made, fence, done ? answer : nullptr)));
    return made;
  }
  static auditor::EffectMark effect(const Key& key) {
    auditor::EffectMark mark;
    mark.key = key.id;
    return mark;
  }

  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::filesystem::path folder_;
  store::CapableStore store_;
  std::uint64_t owners_ = 0;
};

// The keys that are done and have no effect, and no others; one that was waited for and has come is told.
TEST_F(AuditEmbedded, FindsTheKeysThatHaveNoEffect) {
  const Key paid = key("paid");
  const Key missing = key("missing");
  key("unknown", false);
  config::AuditConfig audit;
  audit.ttls = {Terms{}.ttl};
  const Time now = clock_->now() + Millis{1};
  const auditor::AuditWindow window{
      .from = now - Millis{600'000}, .to = now, .settled = now, .missing_from = now - Millis{600'000}};
  const auditor::KeySources sources{
      .lookup = *store_.lookup, .desk = store_.desk, .history = store_.history, .roll = store_.roll};
  const auditor::Comparison comparison({effect(paid)});
  const std::vector<std::string> waited{core::to_hex(paid.id), core::to_hex(missing.id)};
  const Result<auditor::MissingLook> look = missing_keys(sources, comparison, audit, window, waited, 10);
  ASSERT_TRUE(look) << look.error().detail;
  ASSERT_EQ(look->missing.size(), 1U);
  EXPECT_EQ(look->missing.front().id, missing.id);
  EXPECT_EQ(look->missing.front().evidence.state, "done");
  EXPECT_EQ(look->came, std::vector<std::string>{core::to_hex(paid.id)});
  audit.ttls = {Terms{}.ttl + Millis{3'600'000}};
  EXPECT_TRUE(missing_keys(sources, comparison, audit, window, {}, 10)->missing.empty()) << "none has that ttl";
}

// The span has its beginning and not its end, and nothing is listed twice.
TEST_F(AuditEmbedded, RollsTheKeysOfASpan) {
  std::set<Digest> ids;
  for (int i = 0; i < 20; ++i) ids.insert(key(std::to_string(i)).id);
  const auto roll = [&](Time from, Time to) {
    const store::RollSpan span{.from = from, .to = to, .space = "default"};
    return test::run(store_.roll->expiring(span, {})).value().items;
  };
  std::set<Digest> found;
  for (const store::RollEntry& entry : roll(Time{}, clock_->now() + Terms{}.ttl + Millis{1'000})) {
    EXPECT_TRUE(found.insert(entry.id).second);
    EXPECT_EQ(entry.expires_at - entry.claimed_at, Terms{}.ttl);
    const auto at = [&](Time from, Time to) {
      std::set<Digest> here;
      for (const store::RollEntry& each : roll(from, to)) here.insert(each.id);
      return here.contains(entry.id);
    };
    EXPECT_TRUE(at(entry.expires_at, entry.expires_at + Millis{1}));
    EXPECT_FALSE(at(entry.expires_at + Millis{1}, entry.expires_at + Millis{1'000}));
  }
  EXPECT_EQ(found, ids);
}

}  // namespace
}  // namespace semel::test
