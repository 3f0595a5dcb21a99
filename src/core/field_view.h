// One header field, as views into the bytes that arrived.
#pragma once

#include <semel/http_request.h>  // IWYU pragma: export
