// What a hammer run prints. Columns are set by hand: the widest number has thirteen characters.
#include "cli/hammer/report.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/hammer/latencies.h"
#include "cli/hammer/options.h"
#include "cli/hammer/verdict.h"
#include "core/json/writer.h"

namespace semel::cli {
namespace {

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

std::string_view name(RunEnd end) {
  switch (end) {
    case RunEnd::complete:
      return "complete";
    case RunEnd::out_of_patience:
      return "out-of-patience";
    case RunEnd::out_of_time:
      return "out-of-time";
    case RunEnd::interrupted:
      break;
  }
  return "interrupted";
}

std::string heading(const HammerReport& report) {
  const HammerOptions& options = report.options;
  const std::string what =
      options.rate != 0
          ? fmt::format("1 key, {} requests at {} a second", grouped(options.calls), grouped(options.rate))
          : fmt::format("{} keys, {} duplicates of each", grouped(options.keys), grouped(options.calls));
  return fmt::format("{} at {}\n{} connections, {:.1f} s, {} requests sent ({}/s)\n\n", what, options.url,
                     grouped(options.connections), seconds(report.took), grouped(report.tally.counts().sent()),
                     grouped(static_cast<std::uint64_t>(static_cast<double>(report.tally.counts().sent()) /
                                                        std::max(seconds(report.took), 1e-3))));
}

std::string table(const HammerReport& report) {
  const Tally::Counts& counts = report.tally.counts();
  std::string text;
  const auto row = [&](std::string_view what, std::uint64_t number, std::string_view note) {
    if (number == 0) note = {};
    fmt::format_to(std::back_inserter(text), "  {:<17}{:>13}{}{}\n", what, grouped(number), note.empty() ? "" : "   ",
                   note);
  };
  row("first runs", counts.first_runs, "");
  row("replays", counts.replays, "");
  row("409 and 429", counts.again, "sent again later");
  row("422", counts.reused, report.options.wrong_percent != 0 ? "for another body under the same key" : "");
  row("other 4xx", counts.refused, "");
  row("5xx", counts.failed, "");
  row("cut connections", counts.cut, "by this program, then sent again");
  row("lost connections", counts.lost, "broken, refused or timed out, then sent again");
  const Latencies::Summary& latency = report.latency;
  fmt::format_to(std::back_inserter(text), "\n  latency in ms     p50 {:.2f}   p90 {:.2f}   p99 {:.2f}   max {:.2f}\n",
                 latency.p50, latency.p90, latency.p99, latency.max);
  if (report.effects) {
    fmt::format_to(std::back_inserter(text), "  effects           {} before, {} after: {} for {} keys\n",
                   grouped(report.effects->before), grouped(report.effects->after),
                   report.effects->after < report.effects->before
                       ? "fewer"
                       : grouped(report.effects->after - report.effects->before),
                   grouped(report.options.keys));
  }
  return text;
}

std::string why_ended(const HammerReport& report) {
  switch (report.end) {
    case RunEnd::complete:
      return {};
    case RunEnd::out_of_patience:
      return fmt::format("No request got its final answer for {:.0f} s, so the run was given up.\n",
                         seconds(report.options.patience));
    case RunEnd::out_of_time:
      return fmt::format("The run was over its limit of {:.0f} s.\n", seconds(report.options.time_limit));
    case RunEnd::interrupted:
      break;
  }
  return "The run was interrupted.\n";
}

std::string held_text(const HammerReport& report) {
  const HammerOptions& options = report.options;
  std::string text = "HELD\n";
  const auto line = [&](const std::string& sentence) { text += "  " + sentence + ".\n"; };
  line(options.keys == 1 ? "The key did not run twice" : "None of " + grouped(options.keys) + " keys ran twice");
  line("All answers of a key were the same, byte for byte");
  line("Nothing failed, and every request got its final answer");
  if (options.wrong_percent != 0) {
    line(grouped(report.tally.counts().reused) + " other bodies under a key in use got 422");
  }
  if (report.effects) {
    line(options.keys == 1 ? "The API acted once"
                           : fmt::format("The API acted {0} times for {0} keys", grouped(options.keys)));
  }
  const auto lost = std::ranges::count_if(report.tally.keys(), [](const auto& key) { return key.first_runs == 0; });
  const auto errors = std::ranges::count_if(report.tally.keys(), [](const auto& key) { return key.status >= 400; });
  if (errors > 0) {
    line(fmt::format("But {} of the keys were answered with an error, such as {}: kept and replayed each time",
                     grouped(static_cast<std::uint64_t>(errors)),
                     std::ranges::max(report.tally.keys(), {}, &Tally::OfKey::status).status));
  } else if (lost > 0) {
    line(fmt::format("The first answers of {} keys were not seen: they were lost with their connections",
                     grouped(static_cast<std::uint64_t>(lost))));
  }
  return text;
}

std::string broken_text(const HammerReport& report) {
  std::string text = "BROKEN\n";
  for (const Broken& broken : report.broken) {
    fmt::format_to(std::back_inserter(text), "  {}: {}.\n", name(broken.promise), broken.what);
    if (broken.keys.empty()) continue;
    text += "    keys:";
    for (const std::size_t key : broken.keys) text += " " + report.key_text(key);
    text += "\n";
  }
  return text;
}

void write_counts(core::json::JsonWriter& json, const Tally::Counts& counts) {
  json.begin_object()
      .number("sent", counts.sent())
      .number("first_runs", counts.first_runs)
      .number("replays", counts.replays)
      .number("sent_again", counts.again)
      .number("status_422", counts.reused)
      .number("other_4xx", counts.refused)
      .number("status_5xx", counts.failed)
      .number("cut", counts.cut)
      .number("lost", counts.lost)
      .end_object();
}

void write_broken(core::json::JsonWriter& json, const Broken& broken, const HammerReport& report) {
  json.begin_object().text("promise", name(broken.promise)).text("what", broken.what).name("keys").begin_array();
  for (const std::size_t key : broken.keys) json.text(report.key_text(key));
  json.end_array().end_object();
}

}  // namespace

std::string report_text(const HammerReport& report) {
  return heading(report) + table(report) + "\n" + why_ended(report) +
         (report.held() ? held_text(report) : broken_text(report));
}

std::string report_json(const HammerReport& report) {
  const HammerOptions& options = report.options;
  std::string out;
  core::json::JsonWriter json(out);
  json.begin_object()
      .boolean("held", report.held())
      .text("end", name(report.end))
      .text("url", options.url)
      .number("keys", options.keys)
      .number("calls_per_key", options.calls)
      .number("connections", options.connections)
      .decimal("seconds", seconds(report.took), 3);
  write_counts(json.name("counts"), report.tally.counts());
  json.name("latency_ms")
      .begin_object()
      .decimal("p50", report.latency.p50, 3)
      .decimal("p90", report.latency.p90, 3)
      .decimal("p99", report.latency.p99, 3)
      .decimal("max", report.latency.max, 3)
      .end_object();
  if (report.effects) {
    json.name("effects")
        .begin_object()
        .number("before", report.effects->before)
        .number("after", report.effects->after)
        .end_object();
  }
  json.name("broken").begin_array();
  for (const Broken& broken : report.broken) write_broken(json, broken, report);
  json.end_array().end_object();
  return out + "\n";
}

std::string progress_text(const Tally& tally) {
  const Tally::Counts& counts = tally.counts();
  return fmt::format("{} of {} answered: {} first runs, {} replays, {} to send again", grouped(tally.ended()),
                     grouped(tally.calls() * tally.keys().size()), grouped(counts.first_runs), grouped(counts.replays),
                     grouped(counts.again + counts.cut + counts.lost));
}

}  // namespace semel::cli
