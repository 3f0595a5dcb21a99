// What `semel keys` prints for people.
#pragma once

#include <string>

#include <boost/json/object.hpp>

namespace semel::cli {

std::string key_text(const boost::json::object& key);        // all that is known, a line each
std::string key_line(const boost::json::object& key);        // one line of a list
std::string timeline_text(const boost::json::object& life);  // the life of a key, a line for each event
std::string request_line(const boost::json::object& line);   // one request that is watched
std::string audit_line(const boost::json::object& entry);    // one line of the audit log

}  // namespace semel::cli
