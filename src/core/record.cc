#include <semel/store.h>

namespace semel {

bool operator==(const Record& a, const Record& b) {
  const bool same_response =
      (a.response == nullptr) == (b.response == nullptr) && (a.response == nullptr || *a.response == *b.response);
  const bool same_progress =
      (a.progress == nullptr) == (b.progress == nullptr) && (a.progress == nullptr || *a.progress == *b.progress);
  return same_response && same_progress && a.key == b.key && a.key.scope == b.key.scope && a.key.space == b.key.space &&
         a.state == b.state && a.fence == b.fence && a.fingerprint == b.fingerprint && a.claimed_at == b.claimed_at &&
         a.lease_until == b.lease_until && a.expires_at == b.expires_at && a.doubted == b.doubted;
}

}  // namespace semel
