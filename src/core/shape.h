// The shape of a request: short hashes of its method, its target and its body. Of two requests with different
// fingerprints it tells which of the three differ.
//
// A hash may be equal by chance, once in millions; so a shape explains a difference and never decides anything.
#pragma once

#include <cstdint>
#include <string_view>

#include <semel/fingerprint.h>

namespace semel::core {

struct Shape {
  std::uint64_t bits = 0;  // 0 if it is not known; from the top: method 16, target 24, body 23, a one

  friend bool operator==(const Shape&, const Shape&) = default;
};

struct Print {
  Fingerprint fingerprint;
  Shape shape;
};

// The fingerprint of semel/fingerprint.h, and the shape, from one reading of the body.
Print print(const Request& request, BodyForm form, const IgnoreList& ignore);

// Such as "target, body". Empty if it cannot be told.
std::string_view differing(Shape first, Shape second);

}  // namespace semel::core
