// Helpers of the tests of the embedded store. They throw where a test cannot go on.
#include "store/embedded/fixture.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <utility>
#include <variant>

#include "store/embedded/expiry_filter.h"
#include "store/embedded/rocks_options.h"
#include "support/run.h"

namespace semel::test {

namespace fs = std::filesystem;

EmbeddedTest::EmbeddedTest() {
  std::string pattern = (fs::temp_directory_path() / "semel-embedded-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a folder for the test");
  options_.path = fs::path(pattern) / "store";
  options_.free_bytes_min = 0;
}

EmbeddedTest::~EmbeddedTest() {
  store_.reset();
  std::error_code ignored;
  fs::remove_all(options_.path.parent_path(), ignored);
}

Result<OpenedStore> EmbeddedTest::try_open() {
  return open_embedded_store(clock_, options_);
}

void EmbeddedTest::open() {
  Result<OpenedStore> opened = try_open();
  if (!opened) throw std::runtime_error(opened.error().detail);
  store_ = std::move(opened->store);
}

void EmbeddedTest::reopen() {
  close();
  open();
}

Key EmbeddedTest::key(std::uint64_t number) {
  return *make_key("test", "somebody", std::to_string(number));
}

SharedResponse EmbeddedTest::response(std::string body) {
  return std::make_shared<Response>(Response{.status = 201, .fields = {{"A", "b"}}, .body = std::move(body)});
}

Result<Claim> EmbeddedTest::claim(const Key& key, const Terms& terms) {
  Terms own = terms;
  if (own.owner == 0) own.owner = ++owners_;
  return run(context_, store_->claim(key, Fingerprint{}, own));
}

Result<void> EmbeddedTest::complete(const Key& key, Fence fence, SharedResponse response) {
  return run(context_, store_->complete(key, fence, std::move(response)));
}

Result<void> EmbeddedTest::renew(const Key& key, Fence fence, Millis lease) {
  return run(context_, store_->renew(key, fence, lease));
}

std::size_t EmbeddedTest::sweep(std::size_t limit) {
  const Result<std::size_t> swept = run(context_, store_->sweep(limit));
  if (!swept) throw std::runtime_error(swept.error().detail);
  return *swept;
}

Fence EmbeddedTest::take(const Key& key, const Terms& terms) {
  const Result<Claim> claimed = claim(key, terms);
  if (!claimed) throw std::runtime_error(claimed.error().detail);
  return std::get<Granted>(*claimed).fence;
}

Held EmbeddedTest::look(const Key& key) {
  const Result<Claim> claimed = claim(key, {});
  if (!claimed) throw std::runtime_error(claimed.error().detail);
  return std::get<Held>(*claimed);
}

void EmbeddedTest::finish(const Key& key, const std::string& body, const Terms& terms) {
  const Result<void> completed = complete(key, take(key, terms), response(body));
  if (!completed) throw std::runtime_error(completed.error().detail);
}

void EmbeddedTest::with_engine(Time filter_time, const std::function<void(Engine)>& work) const {
  store::embedded::ExpiryFilter filter;
  filter.set_time(filter_time);
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
  work({.db = *db, .index = handles.at(0), .records = handles.at(1)});
  for (rocksdb::ColumnFamilyHandle* handle : handles) db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
}

std::vector<fs::path> EmbeddedTest::files(const std::string& ending) const {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(options_.path)) {
    if (entry.path().filename().string().ends_with(ending)) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

void EmbeddedTest::flip_bit(const fs::path& file, std::uintmax_t at) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(at));
  const int byte = stream.get();
  stream.seekp(static_cast<std::streamoff>(at));
  stream.put(static_cast<char>(byte ^ 1));
  if (!stream) throw std::runtime_error("cannot change " + file.string());
}

}  // namespace semel::test
