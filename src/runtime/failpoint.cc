#include "runtime/failpoint.h"

#ifdef SEMEL_FAILPOINTS

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include <sys/poll.h>

namespace semel::runtime {
namespace {

constexpr std::array<std::string_view, 3> actions{"kill", "stop", "sleep"};

// The value of SEMEL_FAILPOINT. Without it no point is active.
struct Instruction {
  std::size_t point = failpoint_names.size();
  std::string_view action;
  int hit = 1;
  int milliseconds = 0;
};

void print_names(std::FILE* out) {
  for (const std::string_view name : failpoint_names)
    std::fprintf(out, "%.*s\n", static_cast<int>(name.size()), name.data());
}

[[noreturn]] void refuse(const char* what, std::string_view word) {
  std::fprintf(stderr,
               "SEMEL_FAILPOINT: %s '%.*s'. It is POINT:ACTION[:HIT[:MILLISECONDS]], an action is kill, stop or sleep,"
               " and these are the points:\n",
               what, static_cast<int>(word.size()), word.data());
  print_names(stderr);
  std::_Exit(2);
}

std::string_view next_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(':'));
  text.remove_prefix(word.size() == text.size() ? word.size() : word.size() + 1);
  return word;
}

int next_number(std::string_view& text) {
  const std::string_view word = next_word(text);
  int number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) refuse("there is no number", word);
  return number;
}

Instruction read_instruction() {
  const char* const said = std::getenv("SEMEL_FAILPOINT");
  if (said == nullptr) return {};
  std::string_view text = said;
  if (text == "list") {
    print_names(stdout);
    std::fflush(stdout);
    std::_Exit(0);
  }
  Instruction read;
  const std::string_view point = next_word(text);
  read.point = static_cast<std::size_t>(std::ranges::find(failpoint_names, point) - failpoint_names.begin());
  if (read.point == failpoint_names.size()) refuse("there is no point", point);
  const std::string_view action = next_word(text);
  const auto* const known = std::ranges::find(actions, action);
  if (known == actions.end()) refuse("there is no action", action);
  read.action = *known;
  if (!text.empty()) read.hit = next_number(text);
  if (!text.empty()) read.milliseconds = next_number(text);
  return read;
}

// Read before main(): a mistake is reported at once, not when a request reaches the point.
const Instruction instruction = read_instruction();

}  // namespace

void failpoint(Failpoint point) {
  static std::atomic<int> passed = 0;
  if (instruction.point != point.number() || ++passed != instruction.hit) return;
  if (instruction.action == "kill") std::raise(SIGKILL);
  if (instruction.action == "stop") std::raise(SIGSTOP);
  if (instruction.action == "sleep") ::poll(nullptr, 0, instruction.milliseconds);
}

}  // namespace semel::runtime

#endif
