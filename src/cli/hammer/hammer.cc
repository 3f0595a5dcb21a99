// `semel hammer`: fires duplicates at an endpoint, concurrently, and says whether its promises held.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/hammer/client.h"
#include "cli/hammer/options.h"
#include "cli/hammer/report.h"
#include "cli/hammer/storm.h"
#include "cli/hammer/verdict.h"
#include "cli/process.h"
#include "cli/signals.h"
#include "http/ticker.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::cli {
namespace {

namespace asio = boost::asio;

// One run: its event loop and all that lives on it.
class HammerRun {
 public:
  HammerRun(const HammerOptions& options, Clock& clock, std::uint64_t seed)
      : options_(options),
        clock_(clock),
        ticker_(clock, context_.get_executor()),
        client_(std::make_shared<HammerClient>(options, fmt::format("{:08x}", static_cast<std::uint32_t>(seed)), clock,
                                               context_.get_executor(), ticker_)),
        storm_(std::make_shared<Storm>(options, client_, clock, context_.get_executor(), seed)) {}

  // Null if it could not start; trouble() says why.
  std::optional<HammerReport> run() {
    ticker_.start();
    asio::co_spawn(context_, whole(), [this](const std::exception_ptr& error) {
      if (error) std::rethrow_exception(error);
      context_.stop();
    });
    asio::co_spawn(context_, watch(), [](const std::exception_ptr& error) {
      if (error) std::rethrow_exception(error);
    });
    context_.run();
    if (!trouble_.empty()) return std::nullopt;
    HammerReport report{.options = options_,
                        .tally = storm_->tally(),
                        .latency = storm_->latencies().summary(),
                        .effects = effects_,
                        .broken = judge(storm_->tally(), effects_),
                        .took = took_,
                        .end = end_,
                        .key_text = [this](std::size_t key) { return client_->key_text(key); }};
    return report;
  }

  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  Task<void> whole() {
    trouble_ = co_await client_->trouble();
    if (!trouble_.empty()) co_return;
    Effects effects;
    if (options_.effects) {
      const std::optional<std::uint64_t> before = co_await client_->count_effects();
      if (!before) {
        trouble_ = R"(--effects: that URL does not answer 200 with JSON that has a whole number at "effects")";
        co_return;
      }
      effects.before = *before;
    }
    const std::chrono::nanoseconds from = clock_.stopwatch();
    co_await storm_->run();
    took_ = clock_.stopwatch() - from;
    if (end_ == RunEnd::complete && !storm_->tally().all_ended()) end_ = RunEnd::out_of_time;
    if (options_.effects) {
      const std::optional<std::uint64_t> after = co_await client_->count_effects();
      if (!after) {
        trouble_ = "--effects: that URL answered before the run, but not after it";
        co_return;
      }
      effects.after = *after;
      effects_ = effects;
    }
  }

  // Shows the progress, and gives up when there is none or on a signal to stop.
  Task<void> watch() {
    for (;;) {
      co_await ticker_.next();
      if (watched()) fmt::print(stderr, "\r{:<78}", progress_text(storm_->tally()));
      if (next_signal(Millis{0}) == Signal::stop) {
        end_ = RunEnd::interrupted;
        storm_->stop();
      } else if (storm_->silence() >= options_.patience) {
        end_ = RunEnd::out_of_patience;
        storm_->stop();
      }
    }
  }

  const HammerOptions& options_;
  Clock& clock_;
  asio::io_context context_{1};
  http::Ticker ticker_;
  std::shared_ptr<HammerClient> client_;
  std::shared_ptr<Storm> storm_;
  std::optional<Effects> effects_;
  std::chrono::nanoseconds took_{0};
  RunEnd end_ = RunEnd::complete;
  std::string trouble_;
};

int hammer(const HammerArguments& arguments) {
  const Result<HammerOptions> options = check_arguments(arguments);
  if (!options) {
    fmt::print(stderr, "semel hammer: {}\n", options.error().detail);
    return 2;
  }
  take_over_signals();
  raise_file_limit();
  const std::unique_ptr<Clock> clock = make_system_clock();
  HammerRun run(*options, *clock, random_seed());
  const std::optional<HammerReport> report = run.run();
  if (watched()) fmt::print(stderr, "\r{:<78}\r", "");
  if (!report) {
    fmt::print(stderr, "semel hammer: {}\n", run.trouble());
    return 1;
  }
  fmt::print("{}", arguments.json ? report_json(*report) : report_text(*report));
  return report->held() ? 0 : 1;
}

}  // namespace

void add_hammer(CLI::App& app, Command& run) {
  auto given = std::make_shared<HammerArguments>();
  CLI::App* command = app.add_subcommand(
      "hammer", "Fire duplicates at an endpoint, concurrently; exit 0 only if its promises held, 1 if not");
  command->add_option("url", given->url, "What to send to: http://127.0.0.1:8080/v1/payments")->required();
  command->add_option("--keys", given->keys, "How many keys")->capture_default_str();
  command->add_option("--duplicates", given->duplicates, "Requests per key, at the same time")->capture_default_str();
  command->add_option("--connections", given->connections, "Connections (twice the duplicates, up to 512)");
  command->add_option("--method", given->method, "Method")->capture_default_str();
  command->add_option("--body", given->body, "Body; {n} is the number of the key, {key} the key")
      ->capture_default_str();
  command->add_option("--header", given->headers, "\"Name: value\"; may be given several times")
      ->allow_extra_args(false);
  command->add_option("--key-header", given->key_header, "Where the key goes")->capture_default_str();
  command->add_option("--replay-header", given->replay_header, "What marks a replay")->capture_default_str();
  command->add_option("--wrong-body", given->wrong_percent, "Percent of requests with another body: must get 422");
  command->add_option("--cut", given->cut_percent, "Percent of requests whose connection is cut, then sent again");
  command->add_option("--rate", given->rate, "Requests a second, all with one key; with --seconds");
  command->add_option("--seconds", given->seconds, "How long to keep up the rate");
  command->add_option("--effects", given->effects, "URL of JSON with a number at \"effects\"; asked before and after");
  command->add_option("--patience", given->patience_seconds, "Seconds without any final answer before giving up")
      ->capture_default_str();
  command->add_option("--time-limit", given->time_limit_seconds, "Seconds for the whole run")->capture_default_str();
  command->add_option("--ca", given->ca, "For https://: the authority that is trusted (PEM), instead of the machine's");
  command->add_flag("--insecure", given->insecure, "For https://: trust any certificate");
  command->add_flag("--i-own-this-target", given->own_target, "Allow a target that is not on this machine");
  command->add_flag("--json", given->json, "Print the result as JSON");
  command->callback([given, &run] { run = [given] { return hammer(*given); }; });
}

}  // namespace semel::cli
