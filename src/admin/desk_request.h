// What requests to the desk have in common: the id in the path, members of the body, parameters of the query.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "policy/request_view.h"
#include <semel/key.h>

namespace semel::admin {

// The bytes of what stands for {id} in `/v1/keys/{id}…`: the beginning of an id, in hexadecimal. None if it is not.
std::optional<std::string> id_in(const policy::RequestView& request);

// None if it is not a whole id.
std::optional<Digest> whole_id(const std::string& bytes);

// The body as a JSON object. None if it is none.
std::optional<boost::json::object> object_in(const policy::RequestView& request);

// A member that is a string. None if it is not there, or is something else.
std::optional<std::string> text_in(const boost::json::object& object, std::string_view member);

// A parameter of the query, decoded. None if it is not there.
std::optional<std::string> parameter(const policy::RequestView& request, std::string_view name);

}  // namespace semel::admin
