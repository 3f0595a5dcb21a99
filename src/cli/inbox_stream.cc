// tail asks for what came since it began, again and again, and prints each delivery when it has changed. export prints
// a stream as it comes, and remembers where it was.
#include "cli/inbox_stream.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/inbox_call.h"
#include "cli/keys/admin_call.h"
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

namespace json = boost::json;

constexpr Millis look_every{1'000};
constexpr std::size_t followed_max = 100'000;  // deliveries; more are not followed
constexpr Millis patience{60'000};
constexpr std::size_t refusal_bytes_max = 65'536;

struct StreamArguments : InboxArguments {
  std::string after;
  std::uint64_t lines = 0;  // after so many it ends; 0: never
  bool ndjson = true;       // the only form there is
};

bool is_open(std::string_view state) {
  return state == "waiting" || state == "running" || state == "unknown";
}

// What is new among the deliveries since `from`.
class TailReader {
 public:
  explicit TailReader(const StreamArguments& given) : given_(given) {}

  // False: enough was printed.
  bool see(const json::object& item) {
    const std::string name = fmt::format("{} {}", text_of(item, "id"), text_of(item, "destination"));
    const std::string now = fmt::format("{} {}", text_of(item, "state"), number_of(item, "attempt"));
    if (!seen_.contains(name) && seen_.size() >= followed_max) return true;
    Seen& seen = seen_[name];
    seen.round = round_;
    if (seen.how == now) return true;
    seen.how = now;
    if (given_.json) fmt::print("{}\n", json::serialize(item));
    if (!given_.json) print_delivery(item);
    std::fflush(stdout);
    return ++printed_ != given_.lines;
  }

  // All have been asked for; those that did not come will not come again.
  void end_round() {
    for (auto it = seen_.begin(); it != seen_.end();) it = it->second.round == round_ ? std::next(it) : seen_.erase(it);
    ++round_;
  }

 private:
  struct Seen {
    std::string how;
    std::uint64_t round = 0;
  };

  const StreamArguments& given_;
  std::map<std::string, Seen> seen_;
  std::uint64_t round_ = 0;
  std::uint64_t printed_ = 0;
};

// From the oldest that has not ended on; what came before that is not asked for any more.
int tail(const StreamArguments& given) {
  InboxArguments quiet = given;
  quiet.json = false;
  const InboxHeard first = ask_inbox(quiet, "GET", "/v1/inbox?limit=1&from=9999-01-01T00:00:00Z", {});
  if (first.code != 0) return first.code;
  quiet.from = given.from.empty() ? std::string(text_of(first.body, "searched_to")) : given.from;
  const std::unique_ptr<Clock> clock = make_system_clock();
  TailReader reader(given);
  for (;;) {
    std::string next;
    std::string cursor;
    do {
      const std::string target = "/v1/inbox?limit=1000" + inbox_query(quiet) + "&cursor=" + encoded(cursor);
      const InboxHeard told = ask_inbox(quiet, "GET", target, {});
      if (told.code != 0) return told.code;
      for (const json::value& each : told.body.at("items").as_array()) {
        const json::object& item = each.as_object();
        if (!reader.see(item)) return 0;
        if (next.empty() && is_open(text_of(item, "state"))) next = std::string(text_of(item, "accepted_at"));
      }
      cursor = std::string(text_of(told.body, "cursor"));
      if (cursor.empty() && next.empty()) next = std::string(text_of(told.body, "searched_to"));
    } while (!cursor.empty());
    reader.end_round();
    quiet.from = next;
    nap(*clock, look_every);
  }
}

// What an export has printed.
struct Exported {
  std::uint16_t status = 0;  // 0: no answer
  std::string refusal;
  std::string line;  // the beginning of one that has not ended yet
  std::string last;  // the id of the last whole one
  std::uint64_t lines = 0;
  bool whole = false;
};

// The beginning of each line is its id; the rest is passed on and not looked at.
bool print_piece(std::string_view piece, Exported& exported) {
  constexpr std::string_view before_id = "{\"id\":\"";
  constexpr std::size_t id_digits = 32;
  for (std::size_t end = piece.find('\n'); !piece.empty(); end = piece.find('\n')) {
    const std::string_view part = piece.substr(0, end == std::string_view::npos ? piece.size() : end + 1);
    const std::size_t head = before_id.size() + id_digits;
    if (exported.line.size() < head) exported.line += part.substr(0, head - exported.line.size());
    if (std::fwrite(part.data(), 1, part.size(), stdout) != part.size()) return false;
    if (end != std::string_view::npos) {
      if (exported.line.starts_with(before_id)) exported.last = exported.line.substr(before_id.size(), id_digits);
      exported.line.clear();
      ++exported.lines;
    }
    piece.remove_prefix(part.size());
  }
  return true;
}

Task<void> follow(http::Upstream* upstream, const std::string* head, Exported* exported,
                  boost::asio::io_context* context) {
  http::Call call(*upstream, patience);
  http::CallEnd end = co_await call.send(*head, "");
  if (end == http::CallEnd::answered) end = co_await call.read_head();
  if (end == http::CallEnd::answered) exported->status = call.head().status();
  if (exported->status != 0 && exported->status != 200) {
    http::Try<std::string> refusal = co_await call.read_body_up_to(refusal_bytes_max);
    if (refusal) exported->refusal = *std::move(refusal);
  }
  while (exported->status == 200 && !exported->whole) {
    const http::Try<std::string_view> piece = co_await call.read_body();
    if (!piece) break;
    exported->whole = piece->empty();
    if (!print_piece(*piece, *exported)) break;
  }
  context->stop();
}

int export_events(const StreamArguments& given) {
  const Result<AdminServer> server = admin_server(given.admin, given.token, given.config);
  if (!server) return complain_of_inbox(server.error().detail, 2);
  std::string target = "/v1/inbox/export?limit=100" + inbox_query(given);
  if (!given.after.empty()) target += "&after=" + encoded(given.after);
  const std::string head = admin_request_head(*server, "GET", target, 0);
  const std::unique_ptr<Clock> clock = make_system_clock();
  boost::asio::io_context context{1};
  http::Ticker ticker(*clock, context.get_executor());
  http::Upstream upstream(admin_upstream(*server), *clock, context.get_executor(), ticker);
  Exported exported;
  exported.last = given.after;
  ticker.start();
  boost::asio::co_spawn(context, follow(&upstream, &head, &exported, &context), boost::asio::detached);
  context.run();
  if (std::fflush(stdout) != 0) exported.whole = false;
  if (exported.status == 0) return complain_of_inbox("no answer from " + reading::url_text(server->url), 4);
  if (exported.status != 200) return complain_of(exported.status, exported.refusal);
  if (exported.whole) return 0;
  return complain_of_inbox(fmt::format("cut off behind {} line(s); go on with --after {}", exported.lines,
                                       exported.last.empty() ? "nothing: from the start" : exported.last),
                           4);
}

}  // namespace

void add_stream_commands(CLI::App& inbox, Command& run) {
  const auto given = std::make_shared<StreamArguments>();
  CLI::App* const live = add_inbox_part(inbox, *given, "tail", "Deliveries as they change, until you stop it");
  add_inbox_filter(*live, *given);
  live->add_option("--lines", given->lines, "End after so many");
  live->callback([given, &run] { run = [given] { return tail(*given); }; });
  CLI::App* const all = add_inbox_part(inbox, *given, "export", "Events with their bodies, a line of JSON for each");
  add_inbox_filter(*all, *given);
  all->add_flag("--ndjson", given->ndjson, "One JSON object in each line; there is no other form");
  all->add_option("--after", given->after, "Go on behind this event: the id of the last line that you have");
  all->callback([given, &run] { run = [given] { return export_events(*given); }; });
}

}  // namespace semel::cli
