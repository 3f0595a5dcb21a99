#include "store/embedded/rocks_engine.h"

#include <cstddef>
#include <expected>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/options.h>
#include <rocksdb/status.h>

#include "store/embedded/prepared_logs.h"
#include "store/embedded/rocks_options.h"
#include <semel/result.h>

namespace semel::store::embedded {
namespace {

Error open_error(const rocksdb::Status& status, const std::string& path) {
  const std::string text = status.ToString();
  if (status.IsCorruption() || status.IsPathNotFound() || status.IsInvalidArgument() || status.IsNotSupported()) {
    return {.code = Code::corrupt,
            .detail = "the store at " + path + " is damaged (" + text +
                      "). Nothing was dropped to get past this: restore the folder from a backup"};
  }
  if (text.find("/LOCK") != std::string::npos) {
    return {.code = Code::unavailable, .detail = "another process has the store open: " + path + " (" + text + ")"};
  }
  return {.code = Code::unavailable, .detail = "cannot open the store at " + path + ": " + text};
}

}  // namespace

RocksEngine::RocksEngine()
    : logs_(std::make_shared<PreparedLogs>(rocksdb::FileSystem::Default())), env_(rocksdb::NewCompositeEnv(logs_)) {}

RocksEngine::~RocksEngine() {
  if (db_ == nullptr) return;
  for (rocksdb::ColumnFamilyHandle* family : {records_, index_, inbox_, parcels_}) {
    db_->DestroyColumnFamilyHandle(family).PermitUncheckedError();
  }
  db_->Close().PermitUncheckedError();  // all that was acknowledged is in the log
}

Result<std::unique_ptr<RocksEngine>> RocksEngine::open(const std::filesystem::path& folder, std::size_t cache_bytes,
                                                       Files files) {
  std::unique_ptr<RocksEngine> engine(new RocksEngine());
  rocksdb::DBOptions database = database_options(folder);
  database.create_if_missing = files == Files::missing;
  database.env = engine->env_.get();
  const std::vector<rocksdb::ColumnFamilyDescriptor> families{
      {rocksdb::kDefaultColumnFamilyName, index_options()},
      {"records", records_options(cache_bytes, engine->filter_)},
      {"inbox", inbox_options()},
      {"parcels", parcels_options()},
  };
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(database, folder.string(), families, &handles, &db);
  if (!status.ok()) return std::unexpected(open_error(status, folder.string()));
  engine->db_.reset(db);
  engine->index_ = handles.at(0);
  engine->records_ = handles.at(1);
  engine->inbox_ = handles.at(2);
  engine->parcels_ = handles.at(3);
  return engine;
}

}  // namespace semel::store::embedded
