// A request as an operator describes it, so that its key follows: where it went, what it carried, its key.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "config/config.h"
#include "core/field_view.h"
#include "policy/request_view.h"
#include <semel/key.h>
#include <semel/result.h>

namespace semel::admin {

// The views of `view` point into the rest and into the JSON that it was made from, which must outlive it.
struct Described {
  Described() = default;
  Described(Described&&) = default;
  Described& operator=(Described&&) = default;
  Described(const Described&) = delete;
  Described& operator=(const Described&) = delete;
  ~Described() = default;

  std::vector<FieldView> fields;
  policy::RequestView view;
  std::string key_text;
  Key key;
};

// Members: `route` (a target), `method` (POST), `fields`, `key` (if it does not follow from the fields), `body` (if the
// route makes the key or the scope from it). Code::invalid: the detail begins with the member that is wrong.
Result<Described> describe(const config::Config& config, const boost::json::object& asked);

}  // namespace semel::admin
