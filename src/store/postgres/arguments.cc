// Calls as parameters of the functions that work on keys, over arrays.
#include "store/postgres/arguments.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "core/codec.h"
#include "store/call.h"
#include "store/postgres/connection.h"
#include "store/postgres/parameters.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/store.h>

namespace semel::store::postgres {
namespace {

template <class Request>
const Request& request_of(const StoreCall& call) {
  return std::get<Request>(call.request);
}

void add_claims(Parameters& parameters, Rows rows) {
  const std::size_t n = rows.size();
  Array ids(Element::bytea, n), spaces(Element::text, n), scopes(Element::bytea, n), fingerprints(Element::bytea, n),
      owners(Element::int8, n), leases(Element::int8, n), ttls(Element::int8, n), takes(Element::boolean, n),
      over_fences(Element::int8, n), over_owners(Element::int8, n);
  for (const StoreCall* row : rows) {
    const Key& key = row->key;
    const auto& request = request_of<ClaimCall>(*row);
    const Terms& terms = request.terms;
    ids.add(key.id);
    spaces.add(key.space);
    scopes.add(key.scope);
    fingerprints.add(request.fingerprint.digest);
    owners.add_unsigned(terms.owner);
    leases.add(terms.lease.count());
    ttls.add(terms.ttl.count());
    takes.add_flag(terms.lapsed == Terms::Lapsed::taken_over ? 1 : 0);
    if (terms.only_over) {
      over_fences.add_unsigned(terms.only_over->number);
      over_owners.add_unsigned(terms.only_over->owner);
    } else {
      over_fences.add_null();
      over_owners.add_null();
    }
  }
  for (Array* array :
       {&ids, &spaces, &scopes, &fingerprints, &owners, &leases, &ttls, &takes, &over_fences, &over_owners}) {
    parameters.add(std::move(*array));
  }
}

// The response with the identity of its claim around it, checksummed: a row that was copied or damaged is noticed.
void add_response(Array& responses, const Key& key, const CompleteCall& request) {
  if (request.response == nullptr) {
    responses.add_null();
    return;
  }
  Record record;
  record.key.id = key.id;
  record.state = Record::State::done;
  record.fence = request.fence;
  record.response = request.response;
  responses.add(core::encode(record));
}

// Of renew, complete and release: who means which claim, and what else goes with it.
template <class Request, class Extra>
Parameters holders(const Link& link, Rows rows, Millis patience, std::optional<Element> extra, Extra&& add) {
  Array ids(Element::bytea, rows.size());
  Array fences(Element::int8, rows.size());
  Array owners(Element::int8, rows.size());
  Array extras(extra.value_or(Element::int8), rows.size());
  for (const StoreCall* row : rows) {
    const auto& request = request_of<Request>(*row);
    ids.add(row->key.id);
    fences.add_unsigned(request.fence.number);
    owners.add_unsigned(request.fence.owner);
    add(extras, row->key, request);
  }
  Parameters parameters = opening(link, patience);
  parameters.add(std::move(ids));
  parameters.add(std::move(fences));
  parameters.add(std::move(owners));
  if (extra) parameters.add(std::move(extras));
  return parameters;
}

// Renewals and ends of both kinds side by side. NULL as the lease: an end.
void add_holders(Parameters& parameters, Rows rows) {
  const std::size_t n = rows.size();
  Array ids(Element::bytea, n), fences(Element::int8, n), owners(Element::int8, n), leases(Element::int8, n),
      releases(Element::boolean, n), responses(Element::bytea, n);
  for (const StoreCall* row : rows) {
    const StoreCall& call = *row;
    const auto* renew = std::get_if<RenewCall>(&call.request);
    const auto* complete = std::get_if<CompleteCall>(&call.request);
    const auto* release = std::get_if<ReleaseCall>(&call.request);
    const Fence& fence = renew != nullptr      ? renew->fence
                         : complete != nullptr ? complete->fence
                                               : std::get<ReleaseCall>(call.request).fence;
    ids.add(call.key.id);
    fences.add_unsigned(fence.number);
    owners.add_unsigned(fence.owner);
    releases.add_flag(release != nullptr ? 1 : 0);
    if (renew != nullptr) {
      leases.add(renew->lease.count());
    } else {
      leases.add_null();
    }
    if (complete != nullptr) {
      add_response(responses, call.key, *complete);
    } else {
      responses.add_null();
    }
  }
  for (Array* array : {&ids, &fences, &owners, &leases, &releases, &responses}) parameters.add(std::move(*array));
}

}  // namespace

Parameters opening(const Link& link, Millis patience) {
  Parameters parameters;
  parameters.add(link.standing);
  parameters.add(static_cast<std::int32_t>(patience.count()));
  return parameters;
}

Parameters claim_arguments(const Link& link, Rows rows, Millis patience) {
  Parameters parameters = opening(link, patience);
  add_claims(parameters, rows);
  return parameters;
}

Parameters ordered_arguments(const Link& link, Rows rows, Millis patience) {
  Parameters parameters = claim_arguments(link, rows, patience);
  Array objects(Element::bytea, rows.size());
  Array stamps(Element::bytea, rows.size());
  Array companies(Element::int8, rows.size());
  for (const StoreCall* row : rows) {
    const Order& order = *request_of<ClaimCall>(*row).terms.order;
    objects.add(order.object.id);
    stamps.add(order.stamp);
    companies.add_unsigned(order.company);
  }
  for (Array* array : {&objects, &stamps, &companies}) parameters.add(std::move(*array));
  return parameters;
}

Parameters renew_arguments(const Link& link, Rows rows, Millis patience) {
  const auto lease = [](Array& extras, const Key&, const RenewCall& call) { extras.add(call.lease.count()); };
  return holders<RenewCall>(link, rows, patience, Element::int8, lease);
}

Parameters complete_arguments(const Link& link, Rows rows, Millis patience) {
  return holders<CompleteCall>(link, rows, patience, Element::bytea, add_response);
}

Parameters release_arguments(const Link& link, Rows rows, Millis patience) {
  const auto nothing = [](Array&, const Key&, const ReleaseCall&) {};
  return holders<ReleaseCall>(link, rows, patience, std::nullopt, nothing);
}

Parameters batch_arguments(const Link& link, Rows claims, Rows holders, Millis patience) {
  Parameters parameters = opening(link, patience);
  add_claims(parameters, claims);
  add_holders(parameters, holders);
  return parameters;
}

}  // namespace semel::store::postgres
