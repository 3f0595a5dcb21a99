// What a stranger can do to a captured delivery without knowing a secret: every header renamed, dropped, repeated,
// added, changed and put elsewhere; another method, query or content type; a body that is put together differently.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "webhook/captured.h"

namespace semel::test {

struct Tampered {
  std::string what;
  Sent request;
  // What was laid hands on: names of headers in lower case, "{method}", "{query}", "{body}".
  std::set<std::string> touched;
};

// `other` is a delivery of the same provider, captured too: its headers may take the place of this one's.
std::vector<Tampered> tampered(const Captured& captured, const Captured& other);

}  // namespace semel::test
