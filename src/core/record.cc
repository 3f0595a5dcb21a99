#include <semel/store.h>

namespace semel {

bool operator==(const Record& a, const Record& b) {
  const bool same_response =
      (a.response == nullptr) == (b.response == nullptr) && (a.response == nullptr || *a.response == *b.response);
  return same_response && a.key == b.key && a.key.scope == b.key.scope && a.key.space == b.key.space &&
         a.state == b.state && a.fence == b.fence && a.fingerprint == b.fingerprint && a.claimed_at == b.claimed_at &&
         a.lease_until == b.lease_until && a.expires_at == b.expires_at;
}

}  // namespace semel
