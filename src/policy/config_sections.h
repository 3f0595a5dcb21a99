// The readers of the configuration's tables, one per table, and the rules that hold between tables.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "policy/config.h"
#include "policy/document.h"
#include "policy/issue.h"
#include "policy/read_values.h"
#include "policy/table_reader.h"
#include <semel/once.h>

namespace semel {

inline constexpr Millis one_second{1'000};
inline constexpr Millis one_day{86'400'000};
inline constexpr std::uint64_t one_gib = 1ULL << 30U;

inline constexpr std::array on_unknown_choices{Choice<Policy::OnUnknown>{"hold", Policy::OnUnknown::hold},
                                               Choice<Policy::OnUnknown>{"retry", Policy::OnUnknown::retry},
                                               Choice<Policy::OnUnknown>{"probe", Policy::OnUnknown::probe}};

void read_server(Reading& reading, const Node* node, ServerConfig& server);
void read_admin(Reading& reading, const Node* node, AdminConfig& admin);
void read_log(Reading& reading, const Node* node, LogConfig& log);
void read_reply(Reading& reading, const Node* node, ReplyConfig& reply);
void read_store(Reading& reading, const Node* node, StoreConfig& store);
void read_limits(Reading& reading, const Node* node, LimitsConfig& limits);

// [upstream.NAME], each a member of `node`.
void read_upstreams(Reading& reading, const Node* node, Config& config);

// One [[route]], one [[webhook]]; upstreams, limits and the reply have been read. Where each stood is told to
// check_whole().
struct Places {
  std::vector<Position> upstreams;
  std::vector<Position> routes;
  std::vector<Position> webhooks;
};
void read_route(Reading& reading, const Node& node, Config& config);
void read_webhook(Reading& reading, const Node& node, Config& config);

// Shared by both.
void read_upstream_name(TableReader& table, const Config& config, std::size_t& into);
void read_path(TableReader& table, Pattern& into);
void check_terms(TableReader& table, const Policy& policy);

// The rules of one route that involve several of its keys.
void check_route(TableReader& table, const Route& route);

// What only the whole file shows: listeners that clash, paths that are never reached, upstreams that nobody uses.
void check_whole(Reading& reading, const Node& root, const Config& config, const Places& places);

}  // namespace semel
