// Calls to the system that the program runs on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "http/inherited.h"
#include <semel/result.h>

namespace semel::cli {

// The listening sockets that systemd passed on (LISTEN_FDS). Programs that this one starts get none of them.
Result<http::Inherited> inherited_sockets();

// Random, from the kernel.
std::uint64_t random_seed();

// Raises the limit of open files as far as the system allows, and returns it.
std::size_t raise_file_limit();

// If started as root: becomes `user`, for good, and keeps only the right to use ports below 1024. To be called before
// there are threads and files. Code::invalid: there is no such user. Code::unavailable: the system refuses.
Result<void> drop_privileges(const std::string& user);

// Files that this program makes from now on are readable by their owner only: they hold answers of the API.
void keep_files_private();

// No core dump is written, and no process of the same user can look into this one: its memory holds secrets.
void keep_memory_private();

// How this program can be started from the current folder.
std::string program_path();

// Whether standard error is a terminal.
bool watched();

}  // namespace semel::cli
