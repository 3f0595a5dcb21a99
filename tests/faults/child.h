// A process whose standard output is read line by line, even after it has been killed.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace semel::faults {

class Child {
 public:
  // Throws if the program cannot be started.
  explicit Child(const std::vector<std::string>& command);
  // Kills it if it still runs.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Gives `hear` every line until `span` has passed or the child has closed its output; false if it has.
  bool listen(std::chrono::milliseconds span, const std::function<void(const std::string&)>& hear);
  // Kills the child, gives `hear` what it had still written, and waits for its end.
  void kill(const std::function<void(const std::string&)>& hear);
  // Waits for the end of a child that ends by itself; its exit status as the shell tells it (128 + signal).
  int wait();

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  std::string rest_;
};

}  // namespace semel::faults
