#include "runtime/failpoint.h"

#ifdef SEMEL_FAILPOINTS

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

#include <sys/poll.h>

namespace semel::runtime {
namespace {

// What SEMEL_FAILPOINT says; read once, at the first point that is passed.
struct Instruction {
  std::string point;
  std::string action;
  int hit = 1;
  int milliseconds = 0;
};

std::string_view next_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(':'));
  text.remove_prefix(word.size() == text.size() ? word.size() : word.size() + 1);
  return word;
}

Instruction read_order() {
  const char* const said = std::getenv("SEMEL_FAILPOINT");
  std::string_view text = said == nullptr ? "" : said;
  Instruction order;
  order.point = next_word(text);
  order.action = next_word(text);
  if (!text.empty()) order.hit = std::stoi(std::string(next_word(text)));
  if (!text.empty()) order.milliseconds = std::stoi(std::string(text));
  return order;
}

}  // namespace

void failpoint(const char* point) {
  static const Instruction order = read_order();
  static std::atomic<int> passed = 0;
  if (order.point != point || ++passed != order.hit) return;
  if (order.action == "kill") std::raise(SIGKILL);
  if (order.action == "stop") std::raise(SIGSTOP);
  if (order.action == "sleep") ::poll(nullptr, 0, order.milliseconds);
}

}  // namespace semel::runtime

#endif
