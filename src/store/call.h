// The calls of a store as values: what was asked, and the answer once there is one.
//
// Stores gather the calls of many callers and answer them together. A call lives in the frame of the coroutine that
// made it. What only one store understands stands beside the call in that store's own queue, not here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/settlement.h"
#include "store/audit_log.h"
#include "store/desk.h"
#include "store/history.h"
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store {

inline Error not_judged() {
  return {.code = Code::unavailable, .detail = "not judged"};
}

struct ClaimCall {
  Fingerprint fingerprint;
  Terms terms;
  Result<Claim> answer = std::unexpected(not_judged());
};
struct RenewCall {
  Fence fence;
  Millis lease;
  Result<void> answer = std::unexpected(not_judged());
};
struct CompleteCall {
  Fence fence;
  SharedResponse response;  // is moved into the record
  Result<void> answer = std::unexpected(not_judged());
};
struct ReleaseCall {
  Fence fence;
  Result<void> answer = std::unexpected(not_judged());
};
struct SweepCall {
  std::size_t limit;
  Result<std::size_t> answer = std::unexpected(not_judged());
};

struct ReopenCall {
  Result<bool> answer = std::unexpected(not_judged());
};

struct LookCall {
  Result<std::optional<Held>> answer = std::unexpected(not_judged());
};

struct SettleCall {
  core::Settlement settlement;
  Result<void> answer = std::unexpected(not_judged());
};

// Of a store on a server, which reads on a connection of its own; the others read without a call.
struct FindCall {
  std::string id_begins;
  std::size_t limit = 0;
  Result<std::vector<Held>> answer = std::unexpected(not_judged());
};
struct ListCall {
  KeyFilter filter;
  std::string cursor;
  Result<KeyList> answer = std::unexpected(not_judged());
};

struct AppendCall {
  std::string text;
  std::uint64_t token = 0;  // random: an entry that is asked for again is not doubled
  Result<AuditEntry> answer = std::unexpected(not_judged());
};
struct AuditCall {
  std::uint64_t after = 0;
  std::size_t limit = 0;
  Result<std::vector<AuditEntry>> answer = std::unexpected(not_judged());
};

// Of the history of a store on a server.
struct NoteCall {
  std::vector<HistoryRow> rows;  // prepared
  Result<void> answer = std::unexpected(not_judged());
};
struct PastCall {
  HistoryKind kind{};
  std::optional<std::string> subject;  // none: of all of them, from `cursor` on
  HistorySpan span;
  std::string cursor;
  std::size_t limit = 0;
  Result<HistoryPage> answer = std::unexpected(not_judged());
};
struct PruneCall {
  HistoryKind kind{};
  Time before;
  Result<std::size_t> answer = std::unexpected(not_judged());  // how many rows have gone
};

// A step of an inbox, made together with the calls of its batch. It keeps its own answer where its caller finds it.
class InboxBook;
class InboxTable;
class KeyRecords;
struct InboxCall {
  std::function<Result<void>(InboxBook&, InboxTable&, KeyRecords&, Time)> step;
  Result<void> answer = std::unexpected(not_judged());
};

// A step that only the store itself understands, and keeps beside the call.
struct StepCall {
  Result<void> answer = std::unexpected(not_judged());
};

struct StoreCall {
  Key key;  // of those that are about one
  std::variant<ClaimCall, RenewCall, CompleteCall, ReleaseCall, SweepCall, ReopenCall, LookCall, SettleCall, FindCall,
               ListCall, AppendCall, AuditCall, NoteCall, PastCall, PruneCall, InboxCall*, StepCall>
      request;
};

inline StoreCall claim_call(Key key, const Fingerprint& fingerprint, Terms terms) {
  StoreCall call{.key = std::move(key), .request = {}};
  auto& request = std::get<ClaimCall>(call.request);
  request.fingerprint = fingerprint;
  request.terms = std::move(terms);
  return call;
}

// Answers a call with an error.
inline void refuse(StoreCall& call, const Error& error) {
  const auto answer = [&](auto& request) {
    if constexpr (std::is_pointer_v<std::remove_reference_t<decltype(request)>>) {
      request->answer = std::unexpected(error);
    } else {
      request.answer = std::unexpected(error);
    }
  };
  std::visit(answer, call.request);
}

}  // namespace semel::store
