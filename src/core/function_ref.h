// A function to call now, without owning it: for parameters only. The function must outlive it.
//
// std::function may allocate for what it captures, and one is made for every head that is written.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace semel::core {

template <class Signature>
class FunctionRef;

template <class Answer, class... Arguments>
class FunctionRef<Answer(Arguments...)> {
 public:
  template <class Function>
    requires std::invocable<const Function&, Arguments...> && (!std::same_as<Function, FunctionRef>)
  FunctionRef(const Function& function)  // NOLINT(google-explicit-constructor): a lambda is handed over as it is
      : function_(std::addressof(function)), call_([](const void* known, Arguments... arguments) -> Answer {
          return (*static_cast<const Function*>(known))(std::forward<Arguments>(arguments)...);
        }) {}

  Answer operator()(Arguments... arguments) const { return call_(function_, std::forward<Arguments>(arguments)...); }

 private:
  const void* function_;
  Answer (*call_)(const void*, Arguments...);
};

}  // namespace semel::core
