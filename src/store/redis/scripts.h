// The scripts that judge inside the server, each in one step and by the server's clock.
//
// They do what core/transition.h does, on the bytes of layout.h. A script is called by its hash, so a gateway knows
// what runs, and two versions of Semel run side by side. Fence and owner are compared as bytes: Lua's numbers are exact
// only up to 2^53. Each answers one string, a letter and then bytes; those that take many keys (claim, end) a list of
// such strings:
//
//   g fence expires     granted                     o     done as asked, now or before
//   h now value         held; or what a look finds  f N   fenced; the number says why (fenced_text)
//   b now id value      another event runs          c     the record cannot be read
//   s                   superseded                  l id  the object names another event than the caller guessed
//   n                   nothing there               m     there is no such body, or the list is longer
//   x                   no memory for a new record
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace semel::store::redis {

enum class Script : std::uint8_t { claim, end, renew, reopen, settle, look, ordered, await, beat, prune, append };
inline constexpr std::size_t script_count = 11;

// As they are loaded, in the order of Script.
const std::array<std::string, script_count>& scripts();

// Why a call was fenced, by the digit behind the f.
std::string fenced_text(char digit);

}  // namespace semel::store::redis
