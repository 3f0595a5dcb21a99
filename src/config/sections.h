// The readers of the configuration's tables, one per table, and the rules that hold between tables.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "inbox/destination.h"
#include "policy/caller_token.h"
#include "policy/cors.h"
#include "policy/reply.h"
#include "policy/route.h"
#include "reading/document.h"
#include "reading/fault.h"
#include "reading/issue.h"
#include "reading/read_values.h"
#include "reading/table_reader.h"
#include "webhook/webhook.h"
#include <semel/once.h>

namespace semel::config {

inline constexpr std::array on_unknown_choices{reading::Choice<Policy::OnUnknown>{"hold", Policy::OnUnknown::hold},
                                               reading::Choice<Policy::OnUnknown>{"retry", Policy::OnUnknown::retry},
                                               reading::Choice<Policy::OnUnknown>{"probe", Policy::OnUnknown::probe}};

inline constexpr std::array delivery_choices{reading::Choice<webhook::Delivery>{"forward", webhook::Delivery::forward},
                                             reading::Choice<webhook::Delivery>{"inbox", webhook::Delivery::inbox}};

// The same choice, for deliveries of an inbox.
inbox::OnSilence silence_of(Policy::OnUnknown on_unknown);

// One of a list of JSON pointers.
reading::Parsed<void> check_pointer(const std::string& pointer);

void read_server(reading::Reading& reading, const reading::Node* node, ServerConfig& server);
void read_admin(reading::Reading& reading, const reading::Node* node, AdminConfig& admin);
// The table `proxy` in [admin].
void read_admin_proxy(reading::TableReader& admin, std::optional<AdminProxy>& into);
void read_api(reading::Reading& reading, const reading::Node* node, ApiConfig& api);
void read_log(reading::Reading& reading, const reading::Node* node, LogConfig& log);
void read_reply(reading::Reading& reading, const reading::Node* node, policy::ReplyConfig& reply);
void read_reply_status(reading::TableReader& table, std::vector<policy::StatusRule>& into);  // its `status`
// Whether the user of an address has a password in it.
bool holds_password(std::string_view url);
void read_store(reading::Reading& reading, const reading::Node* node, StoreConfig& store);
void read_jwt(reading::Reading& reading, const reading::Node* node, std::optional<policy::TokenRules>& jwt);
void read_limits(reading::Reading& reading, const reading::Node* node, LimitsConfig& limits);

// [upstream.NAME], each a member of `node`.
void read_upstreams(reading::Reading& reading, const reading::Node* node, Config& config);

void read_inbox(reading::Reading& reading, const reading::Node* node, InboxConfig& inbox);
// [destination.NAME], each a member of `node`; upstreams have been read before.
void read_destinations(reading::Reading& reading, const reading::Node* node, Config& config);
// What a webhook says about its inbox; its provider, its path and its order have been read before.
void read_intake(reading::TableReader& table, webhook::Webhook& webhook, Config& config);
// The same for a route, all of which has been read before. One more in Config::route_intakes.
void read_route_intake(reading::TableReader& table, const policy::Route& route, Config& config);

// One [[outbox]]; destinations of the file have been read before.
void read_outbox(reading::Reading& reading, const reading::Node& node, Config& config);

// One [[route]], one [[webhook]]; upstreams, limits and the reply have been read before. check_whole() gets the place
// of each.
struct Places {
  std::vector<reading::Position> upstreams;
  std::vector<reading::Position> routes;
  std::vector<std::optional<reading::Position>> probes;  // of the routes, where they have one
  std::vector<reading::Position> webhooks;
  std::vector<reading::Position> outboxes;
};
void read_route(reading::Reading& reading, const reading::Node& node, Config& config);
void read_webhook(reading::Reading& reading, const reading::Node& node, Config& config);

// One [[audit]]; destinations, routes and webhooks have been read before.
void read_audit(reading::Reading& reading, const reading::Node& node, Config& config);
// One [[resolver]]; routes have been read before, and the one that it names is marked.
void read_resolver(reading::Reading& reading, const reading::Node& node, Config& config);

// The table `cors` of [server].
void read_cors(reading::TableReader& table, std::optional<policy::Cors>& into);

// The table `tls` of a listener, which is called `name` in messages.
void read_tls(reading::TableReader& table, std::string_view name, std::optional<TlsFiles>& into);

// Shared by both.
void read_upstream_name(reading::TableReader& table, const Config& config, std::size_t& into);
void read_path(reading::TableReader& table, policy::Pattern& into);
void check_terms(reading::TableReader& table, const Policy& policy);
// A default that would be longer than the ttl of the file is as long as that.
void fit_defaults(const reading::TableReader& table, Policy& policy);

// The tables of an array of tables; anything else is reported.
std::vector<const reading::Node*> tables_of(reading::Reading& reading, const reading::Node* node,
                                            std::string_view name);

// The rules of one route that involve several of its keys.
void check_route(reading::TableReader& table, const policy::Route& route);

// Rules for the whole file: listeners that clash, paths that are never reached, upstreams that are not used.
void check_whole(reading::Reading& reading, const reading::Node& root, const Config& config, const Places& places);

}  // namespace semel::config
