// The providers that are compiled in, as tables for people.
#pragma once

#include <string>

namespace semel::webhook {

std::string provider_list();      // for a terminal
std::string provider_markdown();  // docs/providers.md; a test compares the two

}  // namespace semel::webhook
