// Deliveries whose JSON is a part of a form (multipart/form-data): the part is found once, before the rules look.
#pragma once

#include "policy/request_view.h"
#include "webhook/provider.h"

namespace semel::webhook {

// With `json_part` set where the provider's file names a part. It is empty if the body has no such part, or is a form
// that two programs could read differently: then nothing is found in it. Opening twice costs nothing.
policy::RequestView opened(const Provider& provider, policy::RequestView request);

}  // namespace semel::webhook
