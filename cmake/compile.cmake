# Flags for every target of ours, in one interface library.
add_library(semel_compile INTERFACE)
target_compile_options(semel_compile INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wformat=2 -Wimplicit-fallthrough -Wnon-virtual-dtor
  -Werror -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # ccache and precompiled headers agree only if the header's time stamp is not part of it.
  target_compile_options(semel_compile INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()

# Headers that cost the most to read and change the least. By name, not by path: then what is compiled with them is the same
# in every clone (tools/compile).
set(SEMEL_PRECOMPILED <functional> <memory> <string> <variant> <vector> <boost/asio/awaitable.hpp>
  <boost/asio/co_spawn.hpp> <boost/asio/io_context.hpp> <boost/asio/post.hpp> <boost/asio/use_awaitable.hpp>)

if(SEMEL_SANITIZE)
  target_compile_options(semel_compile INTERFACE -fsanitize=${SEMEL_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(semel_compile INTERFACE -fsanitize=${SEMEL_SANITIZE})
endif()

if(SEMEL_FUZZ)
  # Coverage for the fuzzer in everything of ours; the main function only in the targets (tests/fuzz).
  target_compile_options(semel_compile INTERFACE -fsanitize=fuzzer-no-link)
  # This build is never installed, so it can check that nothing of ours uses what Asio is about to drop.
  target_compile_definitions(semel_compile INTERFACE BOOST_ASIO_NO_DEPRECATED)
endif()

if(CMAKE_BUILD_TYPE STREQUAL "Release" OR CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  target_compile_options(semel_compile INTERFACE
    -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -D_GLIBCXX_ASSERTIONS -fstack-protector-strong -fstack-clash-protection
    -fcf-protection=full -ftrivial-auto-var-init=zero)
  target_link_options(semel_compile INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie>
    -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
