// The version of these headers. docs/api.md says what a change of each number means.
#pragma once

#define SEMEL_VERSION_MAJOR 0
#define SEMEL_VERSION_MINOR 1
#define SEMEL_VERSION_PATCH 0
