// Reads the stream of /v1/tail and prints a line for each request. Ends when the gateway does.
#include "cli/keys/watch.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/keys/admin_call.h"
#include "cli/keys/admin_options.h"
#include "cli/keys/text.h"
#include "core/printable.h"
#include "http/call.h"
#include "http/failure.h"
#include "http/ticker.h"
#include "http/upstream.h"
#include "reading/address.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::cli {
namespace {

constexpr Millis patience{30'000};  // the gateway gives a sign of life every ten seconds
constexpr std::size_t refusal_bytes_max = 65'536;

struct WatchArguments : AdminOptions {
  std::string route;
  std::string outcome;
  std::string status;
  std::string key;
  std::uint64_t lines = 0;  // after so many it ends; 0: never
};

// Finds the events in a stream, piece by piece.
class EventReader {
 public:
  explicit EventReader(const WatchArguments& given) : given_(given) {}

  // False: enough has been read.
  bool read(std::string_view piece) {
    rest_.append(piece);
    std::size_t from = 0;
    for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', from)) {
      if (!line(std::string_view(rest_).substr(from, end - from))) return false;
      from = end + 1;
    }
    rest_.erase(0, from);
    return true;
  }

 private:
  bool line(std::string_view text) {
    constexpr std::string_view event = "event: ";
    constexpr std::string_view data = "data: ";
    if (text.empty()) event_.clear();
    if (text.starts_with(event)) event_ = text.substr(event.size());
    if (!text.starts_with(data)) return true;
    text.remove_prefix(data.size());
    if (event_ == "dropped") {
      fmt::print(stderr, "semel keys: lines were left out, because this end is slow: {}\n", core::printable(text));
      return true;
    }
    print(text);
    std::fflush(stdout);
    return ++printed_ != given_.lines;
  }

  void print(std::string_view text) const {
    boost::system::error_code error;
    const boost::json::value value = boost::json::parse(text, error);
    if (given_.json || error || !value.is_object()) {
      fmt::print("{}\n", given_.json ? std::string(text) : core::printable(text));
    } else {
      fmt::print("{}", request_line(value.get_object()));
    }
  }

  const WatchArguments& given_;
  std::string rest_;
  std::string event_;
  std::uint64_t printed_ = 0;
};

struct Watched {
  std::uint16_t status = 0;  // 0: no answer
  std::string refusal;
  bool enough = false;
};

Task<void> follow(http::Upstream* upstream, const std::string* head, EventReader* reader, Watched* watched,
                  boost::asio::io_context* context) {
  http::Call call(*upstream, patience);
  http::CallEnd end = co_await call.send(*head, "");
  if (end == http::CallEnd::answered) end = co_await call.read_head();
  if (end == http::CallEnd::answered) watched->status = call.head().status();
  if (watched->status != 0 && watched->status != 200) {
    http::Try<std::string> refusal = co_await call.read_body_up_to(refusal_bytes_max);
    if (refusal) watched->refusal = *std::move(refusal);
  }
  while (watched->status == 200 && !watched->enough) {
    const http::Try<std::string_view> piece = co_await call.read_body();
    if (!piece || piece->empty()) break;
    watched->enough = !reader->read(*piece);
  }
  context->stop();
}

int watch(const WatchArguments& given) {
  const Result<AdminServer> server = admin_server(given.admin, given.token, given.config);
  if (!server) return complain(server.error().detail, 2);
  std::string target = "/v1/tail?route=" + encoded(given.route) + "&outcome=" + encoded(given.outcome) +
                       "&status=" + encoded(given.status) + "&key=" + encoded(given.key);
  const std::string head = admin_request_head(*server, "GET", target, 0);
  const std::unique_ptr<Clock> clock = make_system_clock();
  boost::asio::io_context context{1};
  http::Ticker ticker(*clock, context.get_executor());
  http::Upstream upstream(admin_upstream(*server), *clock, context.get_executor(), ticker);
  EventReader reader(given);
  Watched watched;
  ticker.start();
  boost::asio::co_spawn(context, follow(&upstream, &head, &reader, &watched, &context), boost::asio::detached);
  context.run();
  if (watched.enough) return 0;
  if (watched.status == 0) return complain("no answer from " + reading::url_text(server->url), 4);
  if (watched.status == 200) return complain("the gateway has ended the stream", 4);
  return complain_of(watched.status, watched.refusal);
}

}  // namespace

void add_watch(CLI::App& keys, Command& run) {
  const auto given = std::make_shared<WatchArguments>();
  CLI::App* command = add_admin_command(keys, *given, "watch", "Requests as they happen, until you stop it");
  command->add_option("--route", given->route, "Only this route, as the configuration has it");
  command->add_option("--outcome", given->outcome, "Only this outcome, such as replayed, or this problem");
  command->add_option("--status", given->status, "Only this status, such as 503 or 5xx");
  command->add_option("--key", given->key, "Only this key: the beginning of its hash, as in the log");
  command->add_option("--lines", given->lines, "End after so many");
  command->callback([given, &run] { run = [given] { return watch(*given); }; });
}

}  // namespace semel::cli
