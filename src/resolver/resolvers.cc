// Names and help texts of the metrics are an interface, as in telemetry/metrics.cc.
#include "resolver/resolvers.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <fmt/format.h>

#include "config/config.h"
#include "config/query_text.h"
#include "policy/route.h"
#include "resolver/answer_rows.h"
#include "resolver/probe_source.h"
#include "resolver/route_resolver.h"
#include "resolver/source.h"
#include "runtime/pause.h"
#include "store/desk.h"
#include "telemetry/exposition.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>
#ifdef SEMEL_HAS_POSTGRES
#include "resolver/sql_source.h"
#endif

namespace semel::resolver {
namespace {

#ifdef SEMEL_HAS_POSTGRES
SqlQuestion question_of(const config::Config& config, const config::ResolverConfig& resolver) {
  return {.url = resolver.database.reveal(),
          .query = resolver.query,
          .scoped = !config.routes[resolver.route].scope.parts.empty(),
          .typed = config::query_has_word(resolver.query, "content_type"),
          .timeout = resolver.timeout};
}
#endif

std::unique_ptr<Source> sql_source(const ResolverParts& parts, const config::Config& config,
                                   const config::ResolverConfig& resolver) {
#ifdef SEMEL_HAS_POSTGRES
  const policy::Route& route = config.routes[resolver.route];
  const store::Desk& desk = parts.books.desk;
  const auto name = [&desk, space = route.space](const std::string& scope,
                                                 const std::string& key) -> std::optional<Digest> {
    const Result<Key> made = make_key(space, scope, key);
    if (!made) return std::nullopt;
    return desk.named(*made).id;
  };
  AnswerRules rules{.name = name,
                    .keep = route.target.keep,
                    .store_body_max = route.target.store_body_max,
                    .replayed_header = config.reply.replayed_header};
  return make_sql_source(parts.clock, question_of(config, resolver), std::move(rules));
#else
  static_cast<void>(parts), static_cast<void>(config), static_cast<void>(resolver);
  return nullptr;
#endif
}

struct Family {
  std::string_view name;
  std::string_view type;
  std::string_view help;
  std::function<std::int64_t(const ResolverCounts&)> value;
};

template <class Number>
std::function<std::int64_t(const ResolverCounts&)> at(std::atomic<Number> ResolverCounts::* member) {
  return [member](const ResolverCounts& counts) {
    return static_cast<std::int64_t>((counts.*member).load(std::memory_order_relaxed));
  };
}

const std::vector<Family>& families() {
  static const std::vector<Family> all{
      {"semel_resolver_questions_total", "counter", "Questions about keys of unknown outcome that a source was asked.",
       at(&ResolverCounts::asked)},
      {"semel_resolver_unanswered_total", "counter", "Of these: the source could not be reached, or failed.",
       at(&ResolverCounts::unanswered)},
      {"semel_resolver_rulings_total", "counter", "Answers that settle a key as done or not done, applied or not.",
       at(&ResolverCounts::suggested)},
      {"semel_resolver_done_total", "counter", "Keys that were settled as done, with the answer of the source.",
       at(&ResolverCounts::done)},
      {"semel_resolver_not_done_total", "counter", "Keys that were settled as not done.",
       at(&ResolverCounts::not_done)},
      {"semel_resolver_refused_total", "counter",
       "Acts that were not applied: the key had moved on, or the store or the audit log did not answer.",
       at(&ResolverCounts::refused)},
      {"semel_resolver_watched_keys", "gauge", "Keys of unknown outcome that are asked about.",
       at(&ResolverCounts::watched)},
      {"semel_resolver_person_keys", "gauge", "Of these: a person has to settle them.", at(&ResolverCounts::persons)},
      {"semel_resolver_unaskable_keys", "gauge",
       "Unknown keys of the namespace whose text is not known, so that no source can be asked.",
       at(&ResolverCounts::unaskable)},
      {"semel_resolver_source_lag_ms", "gauge", "How far the source was behind when it answered last.",
       at(&ResolverCounts::lag_ms)},
      {"semel_resolver_source_up", "gauge", "1 if the source answered when it was asked last.",
       at(&ResolverCounts::reached)},
  };
  return all;
}

}  // namespace

Resolvers::Resolvers(ResolverParts parts, const config::Config& config, const AskTarget& ask)
    : parts_(std::move(parts)) {
  for (const config::ResolverConfig& each : config.resolvers) {
    const policy::Route& route = config.routes[each.route];
    std::unique_ptr<Source> source;
    if (each.ask == config::ResolverAsk::sql) {
      source = sql_source(parts_, config, each);
    } else {
      ProbeTerms terms{
          .route = route.path.text, .authorization = each.authorization.reveal(), .concurrency = each.concurrency};
      source = make_probe_source(parts_.clock, std::move(terms), ask);
    }
    if (source == nullptr) continue;  // this program was built without libpq, and was refused before
    resolvers_.push_back(std::make_unique<RouteResolver>(parts_, each, route, std::move(source)));
  }
}

Resolvers::~Resolvers() {
  end();
}

void Resolvers::start() {
  if (resolvers_.empty()) return;
  for (const auto& resolver : resolvers_) {
    boost::asio::co_spawn(context_, run(this, resolver.get()), boost::asio::detached);
  }
  thread_ = std::thread([this] { context_.run(); });
}

void Resolvers::end() {
  context_.stop();
  if (thread_.joinable()) thread_.join();
}

Task<void> Resolvers::run(Resolvers* self, RouteResolver* resolver) {
  for (;;) {
    co_await runtime::sleep(self->parts_.clock, resolver->every());
    co_await RouteResolver::round(resolver);
  }
}

void Resolvers::render(std::string& out) const {
  if (resolvers_.empty()) return;
  for (const Family& family : families()) {
    telemetry::heading(out, family.name, family.type, family.help);
    for (const auto& resolver : resolvers_) {
      const std::string name = fmt::format("{}{{route=\"{}\"}}", family.name, telemetry::label_text(resolver->route()));
      telemetry::sample(out, name, family.value(resolver->counts()));
    }
  }
}

Result<void> check_source(const Clock& clock, const config::Config& config, const config::ResolverConfig& resolver) {
#ifdef SEMEL_HAS_POSTGRES
  if (resolver.ask == config::ResolverAsk::sql) return check_question(clock, question_of(config, resolver));
#else
  static_cast<void>(clock), static_cast<void>(config), static_cast<void>(resolver);
#endif
  return {};
}

}  // namespace semel::resolver
