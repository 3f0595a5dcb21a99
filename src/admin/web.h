// The files of the dashboard (web/), compiled in: packed with gzip, under a path that has their hash
// (cmake/embed_web.py).
#pragma once

#include <span>
#include <string_view>

namespace semel::admin {

struct WebFile {
  std::string_view path;    // "/" is the page itself; the others never change
  std::string_view type;    // for Content-Type
  std::string_view packed;  // the content, as gzip
};

std::span<const WebFile> web_files();

}  // namespace semel::admin
