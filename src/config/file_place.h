// Where an option stands in the file, for those who complain about it later. It is no part of what the option means:
// two of them are always equal, so an option that only moved within the file has not changed.
#pragma once

#include "reading/issue.h"

namespace semel::config {

struct FilePlace {
  reading::Position at{};

  friend bool operator==(const FilePlace&, const FilePlace&) { return true; }
};

}  // namespace semel::config
