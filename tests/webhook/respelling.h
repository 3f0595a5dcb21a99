// What a stranger can write differently without knowing a secret: the place of each header, the method, each pair of
// the query, the content type and its parameters, members and elements of a JSON body. See tampering.h.
#pragma once

#include <vector>

#include "webhook/captured.h"
#include "webhook/tampering.h"

namespace semel::test {

std::vector<Tampered> respelled(const Captured& captured);

}  // namespace semel::test
