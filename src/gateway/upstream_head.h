// The head of a request to an upstream. Made of values: no client connection is needed for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "http/head.h"
#include "policy/forward.h"
#include "policy/request_view.h"

namespace semel::gateway {

// How the body behind the head is framed.
struct BodyFrame {
  http::Framing framing = http::Framing::none;
  std::uint64_t length = 0;
};

// What a request says beside its own fields.
struct Onward {
  std::optional<std::uint64_t> attempt{};  // the fence's number; null if the request is not guarded
  BodyFrame body{};
  bool upgrade = false;  // asks for a WebSocket
};

std::string upstream_head(const config::UpstreamConfig& upstream, const policy::RequestView& request,
                          const policy::Hop& hop, const Onward& onward);

// The head of a probe: it says who is asking, and nothing that describes a body.
std::string probe_head(const config::UpstreamConfig& upstream, const policy::RequestView& request,
                       const policy::Hop& hop, std::string_view target);

}  // namespace semel::gateway
