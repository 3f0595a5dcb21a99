// What a program asks of the system that it runs on.
#pragma once

#include <cstdint>
#include <string>

namespace semel {

// From the kernel; never the same twice.
std::uint64_t random_seed();

// As many connections as the system allows.
void raise_file_limit();

// Files that this program makes from now on are for nobody but their owner: they hold what the API answered.
void keep_files_private();

// How this program can be started from the current folder.
std::string program_path();

// Whether standard error goes to somebody who watches.
bool watched();

}  // namespace semel
