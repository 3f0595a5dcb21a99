// The identity of an embedded store: made once, before its first record; never lost, never changed, never guessed.
#include "core/identity.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/embedded/fixture.h"
#include "store/embedded/identity_file.h"
#include "store/embedded/store.h"
#include "store/embedded/wal_marker.h"

namespace semel::test {
namespace {

namespace fs = std::filesystem;

const core::AesKey old_key{1};
const core::AesKey new_key{2};
const core::AesKey wrong_key{3};

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary) << content;
}

class EmbeddedIdentity : public EmbeddedTest {
 protected:
  // Opens and closes; what the store is then called by.
  Result<std::optional<core::StoreIdentity>> identity(const std::vector<core::AesKey>& keys) {
    Result<store::CapableStore> opened = store::embedded::open_with_keys(clock_, options_, keys);
    if (!opened) return std::unexpected(opened.error());
    return opened->identity;
  }
  // The same, of a store that opens and has one.
  core::StoreIdentity known(const std::vector<core::AesKey>& keys) {
    const auto found = identity(keys);
    if (!found) throw std::runtime_error(found.error().detail);
    return found->value();
  }
  // Expects to be refused, and gives the reason.
  Error refused(const std::vector<core::AesKey>& keys) {
    const auto found = identity(keys);
    EXPECT_FALSE(found);
    return found ? Error{} : found.error();
  }
  void add_a_record() {
    const std::vector<core::AesKey> keys = fs::exists(file()) ? std::vector{old_key} : std::vector<core::AesKey>{};
    Result<store::CapableStore> opened = store::embedded::open_with_keys(clock_, options_, keys);
    ASSERT_TRUE(opened) << opened.error().detail;
    store_ = std::move(opened->store);
    finish(key(1), "kept");
    close();
  }
  // As if the store's making had been cut short before it was said to be made.
  void unmake() const {
    Result<store::embedded::WalMarker> marker = store::embedded::WalMarker::open(options_.path);
    ASSERT_TRUE(marker);
    ASSERT_TRUE(marker->write_synced(store::embedded::Mark{}));
  }

  [[nodiscard]] fs::path file() const { return options_.path / "semel.identity"; }
  [[nodiscard]] fs::path half_made() const { return options_.path / "semel.identity.new"; }
};

// A store that is made with keys has the same identity from then on, in a file that is its owner's; each has another.
TEST_F(EmbeddedIdentity, IsMadeOnceForANewStore) {
  const core::StoreIdentity born = known({old_key});
  EXPECT_EQ(known({old_key}), born);
  add_a_record();
  EXPECT_EQ(known({old_key}), born);
  EXPECT_EQ(fs::status(file()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_FALSE(store::embedded::has_plain_names(options_.path));
  options_.path += "-other";
  EXPECT_NE(known({old_key}), born);
}

// A new key in front of the old one opens the store and takes over: the old one is not needed any more.
TEST_F(EmbeddedIdentity, OutlivesTheRotationOfKeys) {
  const core::StoreIdentity born = known({old_key});
  add_a_record();
  EXPECT_EQ(known({new_key, old_key}), born);
  EXPECT_EQ(known({new_key}), born);
  EXPECT_TRUE(mentions(refused({old_key}).detail, "none of store.encryption_keys opens"));
  EXPECT_EQ(known({old_key, new_key}), born) << "and back again";
}

// Without the key nothing is opened, nothing is changed, and the message says what to put back.
TEST_F(EmbeddedIdentity, RefusesToStartWithoutItsKey) {
  const core::StoreIdentity born = known({old_key});
  const std::string before = content_of(file());
  const Error wrong = refused({wrong_key});
  EXPECT_EQ(wrong.code, Code::invalid);
  EXPECT_TRUE(mentions(wrong.detail, "put back the one")) << wrong.detail;
  const Error none = refused({});
  EXPECT_EQ(none.code, Code::invalid);
  EXPECT_TRUE(mentions(none.detail, "store.encryption_keys is empty; put the keys back")) << none.detail;
  EXPECT_FALSE(try_open()) << "nor does the library open it";
  EXPECT_EQ(content_of(file()), before);
  EXPECT_EQ(known({old_key}), born);
}

// A store that was made without keys keeps plain hashes, with records and without, whatever comes later.
TEST_F(EmbeddedIdentity, IsNeverGivenToAStoreThatWasMadeWithout) {
  EXPECT_FALSE(store::embedded::has_plain_names(options_.path)) << "there is none yet";
  EXPECT_FALSE(identity({}).value());
  EXPECT_FALSE(identity({old_key}).value()) << "it has no records, but it was made";
  add_a_record();
  EXPECT_FALSE(identity({old_key}).value());
  EXPECT_FALSE(fs::exists(file()));
  EXPECT_TRUE(store::embedded::has_plain_names(options_.path));
}

// Cut short while the file was written: it is made again. Cut short after that: it is the one that was made.
TEST_F(EmbeddedIdentity, IsMadeAgainOrKeptAfterACrashAtBirth) {
  fs::create_directories(options_.path);
  write(half_made(), "half of a fi");
  const core::StoreIdentity first = known({old_key});
  EXPECT_FALSE(fs::exists(half_made()));
  unmake();  // the engine was being made
  EXPECT_EQ(known({old_key}), first);

  const std::string made = content_of(file());
  for (const auto& entry : fs::directory_iterator(options_.path)) fs::remove_all(entry.path());
  write(file(), made);  // the engine had not been begun
  EXPECT_EQ(known({old_key}), first);
  add_a_record();
  EXPECT_EQ(known({old_key}), first);
}

// A store whose making was cut short has no records, so it may still get an identity, or lose one that was never used.
TEST_F(EmbeddedIdentity, MayChangeWhileTheStoreIsNotMadeYet) {
  EXPECT_FALSE(identity({}).value());
  unmake();
  const core::StoreIdentity first = known({old_key});
  unmake();
  fs::remove(file());
  EXPECT_FALSE(identity({}).value());
  unmake();
  EXPECT_NE(known({old_key}), first);
}

// Cut short while it was wrapped by another key: what was there before holds, and the next start does it again.
TEST_F(EmbeddedIdentity, IsNotLostByACrashWhileKeysRotate) {
  const core::StoreIdentity born = known({old_key});
  add_a_record();
  write(half_made(), "half of a fi");
  EXPECT_EQ(known({old_key}), born);
  EXPECT_EQ(known({new_key, old_key}), born);
  EXPECT_EQ(known({new_key}), born);
}

// A store that lost the file would forget every key, and one that gets a stranger's would too: neither opens.
TEST_F(EmbeddedIdentity, RefusesAStoreWhoseFileIsGoneOrAnothers) {
  const core::StoreIdentity born = known({old_key});
  add_a_record();
  const std::string own = content_of(file());
  fs::remove(file());
  for (const std::vector<core::AesKey>& keys : {std::vector{old_key}, std::vector<core::AesKey>{}}) {
    const Error gone = refused(keys);
    EXPECT_EQ(gone.code, Code::corrupt);
    EXPECT_TRUE(mentions(gone.detail, "semel.identity is missing")) << gone.detail;
  }
  EXPECT_FALSE(fs::exists(file())) << "no new one is made in its place";

  const fs::path folder = options_.path;
  options_.path += "-other";
  known({old_key});
  fs::copy_file(file(), folder / "semel.identity");
  options_.path = folder;
  const Error strange = refused({old_key});
  EXPECT_EQ(strange.code, Code::corrupt);
  EXPECT_TRUE(mentions(strange.detail, "belongs to another store")) << strange.detail;
  write(file(), own);
  EXPECT_EQ(known({old_key}), born);

  options_.path += "-plain";
  EXPECT_FALSE(identity({}).value());
  write(file(), own);
  EXPECT_EQ(refused({old_key}).code, Code::corrupt) << "its records have plain names";
}

// Whatever byte of the file is damaged, and wherever it is cut off, the store does not open.
TEST_F(EmbeddedIdentity, RefusesADamagedFile) {
  known({old_key});
  const std::string whole = content_of(file());
  ASSERT_EQ(whole.size(), 89U);
  for (std::size_t i = 0; i < whole.size(); i += 8) {
    std::string altered = whole;
    altered[i] = static_cast<char>(altered[i] ^ 1);
    write(file(), altered);
    EXPECT_EQ(refused({old_key}).code, Code::corrupt) << i;
    write(file(), whole.substr(0, i));
    EXPECT_EQ(refused({old_key}).code, Code::corrupt) << i;
  }
  write(file(), whole + "x");
  EXPECT_EQ(refused({old_key}).code, Code::corrupt);
}

}  // namespace
}  // namespace semel::test
