// An event that is damaged on disk: the embedded store says which, and delivers, lists and puts back the others.

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/status.h>

#include "core/event_id.h"
#include "store/capable_store.h"
#include "store/embedded/expiry_filter.h"
#include "store/embedded/rocks_options.h"
#include "store/embedded/store.h"
#include "store/inbox.h"
#include "store/inbox_codec.h"
#include "store/inbox_desk.h"
#include "support/run.h"
#include "support/virtual_clock.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace semel::test {
namespace {

class InboxDamagedFile : public testing::Test {
 protected:
  InboxDamagedFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "semel-damaged-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder: " + pattern);
    options_.path = std::filesystem::path(pattern) / "data";
    open();
  }
  ~InboxDamagedFile() override {
    opened_.store.reset();
    std::error_code ignored;
    std::filesystem::remove_all(options_.path.parent_path(), ignored);
  }
  InboxDamagedFile(const InboxDamagedFile&) = delete;
  InboxDamagedFile& operator=(const InboxDamagedFile&) = delete;

  void open() {
    Result<store::CapableStore> store = store::embedded::open_with_keys(clock_, options_, {});
    if (!store) throw std::runtime_error(store.error().detail);
    opened_ = *std::move(store);
    opened_.inbox->tell_unread([this](const std::string& what) { told_.push_back(what); });
    while (run(context_, opened_.inbox->adopt({.limit = 10, .rest = {}, .holding = {}})).value() > 0) {
    }
  }
  core::EventId accept(const std::string& text) {
    store::AcceptOrder order;
    order.key = make_key("webhook:/h", "", text).value();
    order.ttl = Millis{3'600'000};
    order.owner = 7;
    order.source = "/h";
    order.to.push_back({.name = "billing", .room = false, .skipped_by = {}});
    order.parcel = std::make_shared<const store::Parcel>();
    order.depth_max = order.bytes_max = 1'000'000;
    store::AcceptReply reply = [](const core::EventId&, const Key&, const Fence&) {
      return std::make_shared<const Response>();
    };
    const auto accepted = run(context_, opened_.inbox->accept(std::move(order), std::move(reply)));
    return std::get<store::AcceptedEvent>(accepted.value()).id;
  }
  std::set<core::EventId> take() {
    store::TakeOrder order{.to = "billing", .limit = 10, .replays_max = 10};
    std::set<core::EventId> ids;
    const store::TakenDeliveries taken = run(context_, opened_.inbox->take(std::move(order))).value();
    for (const store::TakenDelivery& each : taken.deliveries) ids.insert(each.event.id);
    return ids;
  }
  // Writes over the event while the store is closed.
  void damage(const core::EventId& id) {
    opened_.store.reset();
    store::embedded::ExpiryFilter filter;
    const std::vector<rocksdb::ColumnFamilyDescriptor> families{
        {rocksdb::kDefaultColumnFamilyName, store::embedded::index_options()},
        {"records", store::embedded::records_options(options_.cache_bytes, filter)},
        {"inbox", store::embedded::inbox_options()},
        {"parcels", store::embedded::parcels_options()},
    };
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* opened = nullptr;
    const rocksdb::Status status = rocksdb::DB::Open(store::embedded::database_options(options_.path),
                                                     options_.path.string(), families, &handles, &opened);
    if (!status.ok()) throw std::runtime_error(status.ToString());
    const std::unique_ptr<rocksdb::DB> db(opened);
    EXPECT_TRUE(db->Put({}, handles.at(2), store::event_key(id), "torn").ok());
    for (rocksdb::ColumnFamilyHandle* handle : handles) db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }

  boost::asio::io_context context_{1};
  VirtualClock clock_;
  EmbeddedOptions options_;
  store::CapableStore opened_;
  std::vector<std::string> told_;
};

// Of three events that a dead process left, two run again; the third is named once.
TEST_F(InboxDamagedFile, HoldsUpNoOther) {
  const core::EventId taken = accept("taken");
  ASSERT_EQ(take(), std::set{taken});
  const core::EventId torn = accept("torn");
  const core::EventId waits = accept("waits");
  damage(torn);
  open();
  EXPECT_EQ(take(), (std::set{taken, waits}));
  EXPECT_TRUE(take().empty());
  EXPECT_TRUE(run(context_, opened_.inbox_desk->sweep_inbox(100)).has_value());
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_TRUE(told_.front().starts_with("event " + torn.text())) << told_.front();
  EXPECT_EQ(run(context_, opened_.inbox_desk->list({}, "")).value().items.size(), 2U);
  EXPECT_FALSE(run(context_, opened_.inbox_desk->find(torn)).has_value()) << "who asks for it hears why";
}

}  // namespace
}  // namespace semel::test
