// Each act is planned first: how many there are and what they look like is shown, and somebody says yes. Then it is
// started with the plan's token and watched until it has ended and what it sent has been delivered.
#include "cli/inbox_jobs.h"

#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/inbox_call.h"
#include "cli/keys/admin_call.h"
#include <semel/clock.h>

namespace semel::cli {
namespace {

namespace json = boost::json;

constexpr Millis look_every{500};
constexpr Millis still_max{10'000};  // after its end, without a delivery that ends

struct JobArguments : InboxArguments {
  std::string object;
  std::string why;
  std::string rate;
  bool yes = false;
  bool detach = false;
  std::vector<std::string> words;  // of `job`
};

std::string filter_of(const JobArguments& given, const std::string& action) {
  json::object filter;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) filter[name] = value;
  };
  add("source", given.source);
  add("destination", given.destination);
  add("state", given.state);
  add("type", given.type);
  add("from", given.from);
  add("to", given.to);
  add("object", given.object);
  add("why", given.why);
  json::object body;
  body["action"] = action;
  body["filter"] = std::move(filter);
  if (!given.rate.empty()) body["rate"] = given.rate;
  return json::serialize(body);
}

std::string_view done_word(std::string_view action) {
  if (action == "replay") return "sent again";
  if (action == "discard") return "discarded";
  return action == "backfill" ? "given" : "erased";
}

std::string job_line(const json::object& job) {
  const std::string_view action = text_of(job, "action");
  std::string line =
      fmt::format("job {} {} {}: {} of {}{} {}", shown_of(job, "id"), shown_of(job, "action"), shown_of(job, "state"),
                  number_of(job, "taken"), job.at("at_least").as_bool() ? "at least " : "", number_of(job, "count"),
                  done_word(action));
  if (action == "replay" || action == "backfill") {
    line += fmt::format("; {} delivered, {} dead, {} otherwise, {} on their way", number_of(job, "done"),
                        number_of(job, "dead"), number_of(job, "other"), number_of(job, "open"));
  }
  return line;
}

// Until it has ended and nothing that it sent is on its way, or nothing of that moves any more.
int watch(const JobArguments& given, const std::string& id) {
  InboxArguments quiet = given;
  quiet.json = false;
  std::string last;
  const std::unique_ptr<Clock> clock = make_system_clock();
  Time moved = clock->now();
  for (;;) {
    const InboxHeard told = ask_inbox(quiet, "GET", "/v1/inbox/jobs/" + encoded(id), {});
    if (told.code != 0) return told.code;
    const std::string line = job_line(told.body);
    if (line != last) {
      fmt::print(stderr, "{}\n", line);
      moved = clock->now();
      last = line;
    }
    const bool over = text_of(told.body, "state") != "running";
    const bool still = clock->now() - moved >= still_max;
    if (over && (number_of(told.body, "open") == 0 || still)) {
      fmt::print("{}\n", given.json ? json::serialize(told.body) : line);
      return 0;
    }
    nap(*clock, look_every);
  }
}

bool says_yes() {
  std::string answer;
  fmt::print(stderr, "Go on? [y/N] ");
  std::getline(std::cin, answer);
  return answer == "y" || answer == "yes";
}

int work(const JobArguments& given, const std::string& action) {
  InboxArguments quiet = given;
  quiet.json = false;
  const InboxHeard plan = ask_inbox(quiet, "POST", "/v1/inbox/jobs", filter_of(given, action));
  if (plan.code != 0) return plan.code;
  const std::int64_t count = number_of(plan.body, "count");
  const bool at_least = plan.body.at("at_least").as_bool();
  for (const json::value& each : plan.body.at("sample").as_array()) {
    const json::object& item = each.as_object();
    fmt::print(stderr, "  {} {} {} -> {} {} {}\n", shown_of(item, "id"), shown_of(item, "type"),
               shown_of(item, "source"), shown_of(item, "destination"), shown_of(item, "state"), shown_of(item, "why"));
  }
  fmt::print(stderr, "{}: {}{} {}\n", action, at_least ? "at least " : "", count,
             action == "backfill" || action == "erase" ? "event(s)" : "deliveries");
  if (count == 0) return complain_of_inbox("there is nothing to do", 1);
  if (!given.yes && !says_yes()) return complain_of_inbox("nothing was done", 1);
  json::object body;
  body["token"] = text_of(plan.body, "token");
  body["count"] = count;
  body["reason"] = given.reason;
  const InboxHeard started = ask_inbox(quiet, "POST", "/v1/inbox/jobs", json::serialize(body));
  if (started.code != 0) return started.code;
  const json::object& job = started.body.at("job").as_object();
  if (!given.detach) return watch(given, std::string(text_of(job, "id")));
  fmt::print("{}\n", given.json ? json::serialize(job) : job_line(job));
  return 0;
}

int list_jobs(const JobArguments& given) {
  const InboxHeard told = ask_inbox(given, "GET", "/v1/inbox/jobs", {});
  if (told.code != 0 || given.json) return told.code;
  for (const json::value& each : told.body.at("items").as_array()) {
    const json::object& job = each.as_object();
    fmt::print("{} ({}: {})\n", job_line(job), shown_of(job, "who"), shown_of(job, "reason"));
  }
  return 0;
}

// `job ID`, `job cancel ID`
int one_job(const JobArguments& given) {
  const bool cancels = given.words.size() == 2 && given.words.front() == "cancel";
  if (!cancels && given.words.size() != 1) return complain_of_inbox("write `job ID` or `job cancel ID`", 2);
  const std::string target = "/v1/inbox/jobs/" + encoded(given.words.back());
  if (!cancels) {
    const InboxHeard told = ask_inbox(given, "GET", target, {});
    if (told.code == 0 && !given.json) fmt::print("{}\n", job_line(told.body));
    return told.code;
  }
  json::object body;
  body["reason"] = given.reason;
  const InboxHeard told = ask_inbox(given, "DELETE", target, json::serialize(body));
  if (told.code == 0 && !given.json) fmt::print("{}\n", job_line(told.body.at("job").as_object()));
  return told.code;
}

CLI::App* add_work(CLI::App& inbox, JobArguments& given, const std::string& action, const std::string& about) {
  CLI::App* const part = add_inbox_part(inbox, given, action, about);
  add_inbox_filter(*part, given);
  part->add_option("--object", given.object, "Only events of this object; needs --source");
  part->add_option("--why", given.why, "Only deliveries with these words, as `list` shows them");
  part->add_option("--rate", given.rate, "At most so many, such as 50/s");
  part->add_option("--reason", given.reason, "Why; it is in the audit log")->required();
  part->add_flag("--yes", given.yes, "Do not ask");
  part->add_flag("--detach", given.detach, "Do not watch it");
  return part;
}

}  // namespace

void add_job_commands(CLI::App& inbox, Command& run, std::function<int(const InboxArguments&)> discard_one) {
  const auto given = std::make_shared<JobArguments>();
  const std::pair<const char*, const char*> works[] = {
      {"replay", "Send many again: those of a state, to a destination, of a time"},
      {"backfill", "Give events that came earlier to a destination (--to) that is new"},
      {"erase", "Drop the bodies of an object's events; their keys stay"}};
  for (const auto& [name, help] : works) {
    CLI::App* const part = add_work(inbox, *given, name, help);
    part->callback([given, &run, what = std::string(name)] { run = [given, what] { return work(*given, what); }; });
  }
  CLI::App* const discard = add_work(inbox, *given, "discard", "End one that waits, is dead or unknown, or many");
  discard->add_option("id", given->id, "The id of an event; without, all that the filter takes");
  discard->callback([given, &run, one = std::move(discard_one)] {
    run = [given, one] { return given->id.empty() ? work(*given, "discard") : one(*given); };
  });
  CLI::App* const all = add_inbox_part(inbox, *given, "jobs", "Bulk work, newest first");
  all->callback([given, &run] { run = [given] { return list_jobs(*given); }; });
  CLI::App* const job = add_inbox_part(inbox, *given, "job", "How far one is: `job ID`; `job cancel ID --reason …`");
  job->add_option("words", given->words, "The number of the job, behind `cancel` to stop it")->required();
  job->add_option("--reason", given->reason, "Why it is cancelled; it is in the audit log");
  job->callback([given, &run] { run = [given] { return one_job(*given); }; });
}

}  // namespace semel::cli
