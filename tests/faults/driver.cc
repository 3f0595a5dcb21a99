// fault_driver kill|sync|full TIMES FOLDER: lets a hammer work on one store, breaks something, looks at what is left.
//
//   kill   kill -9 in the middle of the work
//   sync   an fdatasync that fails with EIO (strace injects it), at another point each time
//   full   a tmpfs that fills up: first the store's own floor, then somebody else takes the last byte
//
// After each fault the store is opened again and everything the hammer was told is held against what is there
// (model.h). The store is never thrown away in between. Exit status 0: no violation. 4: this machine cannot do it.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <sys/mount.h>
#include <unistd.h>

#include "faults/child.h"
#include "faults/events.h"
#include "faults/model.h"
#include "store/embedded/rocks_ledger.h"
#include <semel/clock.h>

namespace semel::faults {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::uint64_t floor_bytes = 8U << 20U;

class Driver {
 public:
  Driver(fs::path hammer, fs::path folder) : hammer_(std::move(hammer)), folder_(std::move(folder)) {}

  int run(const std::string& what, int times) {
    if (what == "full" && !mount_tmpfs()) return 4;
    for (int i = 1; i <= times; ++i) {
      random_ = mix(random_);
      if (what == "kill") kill_once(i);
      if (what == "sync") sync_once(i, times);
      if (what == "full") full_once(i);
      verify(model_.take_touched());
      progress(what, i, times);
      if (!model_.violations().empty()) break;
    }
    verify(model_.keys());
    if (2 * silent_ > times) complain("most of the time nothing was answered before the kill");
    if (what == "full") ::umount2(folder_.c_str(), MNT_DETACH);
    return report(what);
  }

 private:
  [[nodiscard]] fs::path store() const { return folder_ / "store"; }
  [[nodiscard]] std::vector<std::string> hammer(std::uint64_t floor = floor_bytes) const {
    return {hammer_.string(), store().string(), std::to_string(random_), std::to_string(model_.next_key()),
            std::to_string(floor)};
  }
  auto hear() {
    return [this](const std::string& line) {
      opened_ = opened_ || line == "open";
      model_.hear(line);
    };
  }
  void complain(const std::string& what) { complaints_.push_back(what); }

  // Every other kill may fall into the opening of the store, however long that takes here.
  void kill_once(int number) {
    const std::size_t before = model_.acknowledged();
    opened_ = number % 2 == 0;
    Child child(hammer());
    for (int waited = 0; waited < 3'000 && !opened_; ++waited) child.listen(10ms, hear());
    child.listen(std::chrono::milliseconds(20 + random_ % 400), hear());
    child.kill(hear());
    silent_ += model_.acknowledged() == before ? 1 : 0;
    for (const std::string& text : model_.take_said()) complain("the store was not to fail: " + text);
    ++faults_;
  }

  // The first points fall into the opening of the store, the others among its commits.
  void sync_once(int number, int times) {
    const std::uint64_t when = number <= times / 5 ? static_cast<std::uint64_t>(number) : 10 + random_ % 400;
    std::vector<std::string> command{"strace",
                                     "-f",
                                     "-qq",
                                     "-o",
                                     "/dev/null",
                                     "-e",
                                     "trace=fdatasync",
                                     "-e",
                                     "inject=fdatasync:error=EIO:when=" + std::to_string(when)};
    const std::vector<std::string> rest = hammer();
    command.insert(command.end(), rest.begin(), rest.end());
    opened_ = false;
    Child child(command);
    const bool running = child.listen(60s, hear());
    if (running) {
      child.kill(hear());
      return complain("the hammer went on after fdatasync " + std::to_string(when) + " failed");
    }
    const int status = child.wait();
    if (status != 0) complain("the hammer ended with status " + std::to_string(status));
    const std::vector<std::string> said = model_.take_said();
    const auto plain = [](const std::string& text) { return text.find("refused a write") != std::string::npos; };
    if (said.empty()) complain("nobody was told that fdatasync " + std::to_string(when) + " failed");
    if (opened_ && !std::ranges::all_of(said, plain)) complain("a message does not say why: " + said.front());
    ++faults_;
  }

  // In turn: with a floor, the hammer fills the tmpfs down to it, and claims are refused but nothing stops, until
  // somebody else takes the last byte; without a floor it fills the tmpfs itself, and the store must stop rather than
  // lie. Then it is opened without any room. Then room is made, and it must work again.
  void full_once(int number) {
    const fs::path ballast = folder_ / "ballast";
    const bool with_floor = number % 2 == 1;
    {
      Child child(hammer(with_floor ? floor_bytes : 0));
      const Code awaited = with_floor ? Code::full : Code::unavailable;
      const std::size_t before = model_.acknowledged();
      bool told = false;
      const auto answered = [&] { return model_.acknowledged() > before; };
      // What the life before has left over is cleared away beside the first calls, and these may be refused.
      for (int waited = 0; waited < 600 && (!told || !answered()) && child.listen(100ms, hear()); ++waited) {
        told = was_told(awaited) || told;
      }
      if (!told && !was_told(awaited))
        complain("round " + std::to_string(number) + ": nobody was told that it is full");
      if (!answered()) complain("round " + std::to_string(number) + ": nothing was answered");
      fill(ballast);
      end(child, with_floor ? std::chrono::milliseconds(200 + random_ % 500) : 30s);
    }
    {
      Child child(hammer(0));  // no room at all: it may refuse to open, it must not crash or lie
      end(child, 1s);
    }
    model_.take_said();
    fs::remove(ballast);
    grow_tmpfs();
    ++faults_;
  }

  bool was_told(Code code) {
    const std::string begin = std::to_string(static_cast<int>(code)) + " ";
    return std::ranges::any_of(model_.take_said(), [&](const std::string& text) { return text.starts_with(begin); });
  }

  // A child that ends by itself must do so in good order.
  void end(Child& child, std::chrono::milliseconds span) {
    if (child.listen(span, hear())) return child.kill(hear());
    const int status = child.wait();
    if (status != 0) complain("the hammer ended with status " + std::to_string(status));
  }

  static void fill(const fs::path& file) {
    std::ofstream out(file, std::ios::binary);
    const std::string chunk(1U << 16U, 'x');
    while (out.write(chunk.data(), static_cast<std::streamsize>(chunk.size())).flush()) {
    }
  }

  bool mount_tmpfs() {
    fs::create_directories(folder_);
    if (::mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=64m") == 0) return true;
    std::printf("full: skipped, this user may not mount a tmpfs\n");
    return false;
  }

  void grow_tmpfs() {
    size_mebibytes_ += 64;  // more than the engine's buffer: opening may have to write one out
    const std::string options = "size=" + std::to_string(size_mebibytes_) + "m";
    if (::mount("tmpfs", folder_.c_str(), "tmpfs", MS_REMOUNT, options.c_str()) != 0) complain("cannot grow the tmpfs");
  }

  void verify(const std::vector<std::uint64_t>& keys) {
    const std::unique_ptr<Clock> clock = make_system_clock();
    EmbeddedOptions options;
    options.path = store();
    const Result<std::unique_ptr<store::embedded::RocksLedger>> ledger =
        store::embedded::RocksLedger::open(*clock, options);
    if (!ledger) return complain("the store does not open again: " + ledger.error().detail);
    for (const std::uint64_t key : keys) {
      const Result<std::optional<Record>> stored = (*ledger)->read(key_of(key).id);
      if (stored) model_.check(key, *stored);
      if (!stored) complain("key " + std::to_string(key) + " cannot be read: " + stored.error().detail);
    }
    checked_ += keys.size();
  }

  void progress(const std::string& what, int done, int times) const {
    if (::isatty(STDERR_FILENO) == 0 && done % 10 != 0) return;
    std::fprintf(stderr, "%s%s %d/%d: %zu answers, %zu records checked%s", ::isatty(STDERR_FILENO) != 0 ? "\r" : "",
                 what.c_str(), done, times, model_.acknowledged(), checked_,
                 done == times || ::isatty(STDERR_FILENO) == 0 ? "\n" : "");
  }

  [[nodiscard]] int report(const std::string& what) const {
    const std::size_t violations = model_.violations().size();
    std::printf("%-6s %4d faults %9zu answers %9zu records checked %4zu violations %4zu complaints\n", what.c_str(),
                faults_, model_.acknowledged(), checked_, violations, complaints_.size());
    for (std::size_t i = 0; i < std::min<std::size_t>(violations, 20); ++i) {
      std::printf("  %s\n", model_.violations()[i].c_str());
    }
    for (std::size_t i = 0; i < std::min<std::size_t>(complaints_.size(), 20); ++i) {
      std::printf("  %s\n", complaints_[i].c_str());
    }
    return violations == 0 && complaints_.empty() ? 0 : 1;
  }

  fs::path hammer_;
  fs::path folder_;
  Model model_;
  std::vector<std::string> complaints_;
  std::uint64_t random_ = 20'261'115;
  std::size_t checked_ = 0;
  bool opened_ = false;  // the last hammer got as far as working
  int faults_ = 0;
  int silent_ = 0;  // of them, those before which nothing was answered
  int size_mebibytes_ = 64;
};

}  // namespace
}  // namespace semel::faults

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() != 3) {
    std::fputs("usage: fault_driver kill|sync|full TIMES FOLDER\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = args[2];
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const int status = semel::faults::Driver(here / "fault_hammer", folder).run(args[0], std::stoi(args[1]));
  if (status == 0) std::filesystem::remove_all(folder);
  return status;
}
