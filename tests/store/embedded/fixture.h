// An embedded store in a folder of its own, and its files in the hands of the test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include "support/virtual_clock.h"
#include <semel/clock.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace semel::test {

class EmbeddedTest : public testing::Test {
 protected:
  EmbeddedTest();
  ~EmbeddedTest() override;

  // Opens the store of this test; close it first. open() expects that it works.
  Result<OpenedStore> try_open();
  void open();
  void close() { store_.reset(); }
  void reopen();

  static Key key(std::uint64_t number);
  static SharedResponse response(std::string body);
  Result<Claim> claim(const Key& key, const Terms& terms);
  Result<void> complete(const Key& key, Fence fence, SharedResponse response);
  Result<void> renew(const Key& key, Fence fence, Millis lease);
  std::size_t sweep(std::size_t limit);

  // Expects to be Granted; to be Held.
  Fence take(const Key& key, const Terms& terms = {});
  Held look(const Key& key);
  // Claims and completes.
  void finish(const Key& key, const std::string& body, const Terms& terms = {});

  // The engine below the closed store, with its own options and the expiry filter at `filter_time`.
  struct Engine {
    rocksdb::DB& db;
    rocksdb::ColumnFamilyHandle* index;
    rocksdb::ColumnFamilyHandle* records;
  };
  void with_engine(Time filter_time, const std::function<void(Engine)>& work) const;

  // Files of the store with this ending, oldest first.
  [[nodiscard]] std::vector<std::filesystem::path> files(const std::string& ending) const;
  [[nodiscard]] std::filesystem::path mark() const { return options_.path / "semel.mark"; }
  static void flip_bit(const std::filesystem::path& file, std::uintmax_t at);

  VirtualClock clock_;
  EmbeddedOptions options_;
  boost::asio::io_context context_{1};
  std::unique_ptr<Store> store_;

 private:
  std::uint64_t owners_ = 0;
};

}  // namespace semel::test
