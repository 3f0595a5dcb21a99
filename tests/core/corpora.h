// Test data made by others, which lives beside the project and not in it: a test that wants it runs every case when it
// is there, and says in one line that it was skipped when it is not.
#pragma once

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "support/places.h"

namespace semel::test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Whether the folder is there.
inline bool has_corpus(std::string_view name) {
  const bool there = std::filesystem::is_directory(in_corpora(name));
  if (!there) std::cout << "skipped: there is no folder " << name << " in " << in_corpora("").string() << "\n";
  return there;
}

inline std::filesystem::path corpus_path(std::string_view name) {
  return in_corpora(name);
}

inline boost::json::value corpus_json(std::string_view name) {
  return boost::json::parse(read_file(corpus_path(name)));
}

inline std::string text_at(const boost::json::value& object, std::string_view name) {
  return std::string(object.at(name).as_string());
}

}  // namespace semel::test
