// What a program asks of the system that it runs on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <semel/result.h>

namespace semel::cli {

// From the kernel; never the same twice.
std::uint64_t random_seed();

// As many open files as the system allows, and how many that are.
std::size_t raise_file_limit();

// If started as root: becomes `user`, for good, and keeps nothing but the right to take ports below 1024. To be called
// before there are threads and files. Code::invalid: there is no such user. Code::unavailable: the system refuses.
Result<void> drop_privileges(const std::string& user);

// Files that this program makes from now on are for nobody but their owner: they hold what the API answered.
void keep_files_private();

// No core dump is written, and no process of the same user can look into this one: its memory holds secrets.
void keep_memory_private();

// How this program can be started from the current folder.
std::string program_path();

// Whether standard error goes to somebody who watches.
bool watched();

}  // namespace semel::cli
