# The gateway: HTTP, the joined parts, and the one binary `semel`.
find_package(CLI11 REQUIRED)

function(semel_part name)
  semel_sources(sources ${name})
  add_library(semel_${name} STATIC ${sources})
  target_include_directories(semel_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(semel_${name} PUBLIC semel ${ARGN} PRIVATE semel_compile)
  target_precompile_headers(semel_${name} PRIVATE ${SEMEL_PRECOMPILED})
endfunction()

semel_part(http OpenSSL::SSL)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Beast's parser keeps 4 KiB on the stack for folded lines, which it fills before it reads them.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/http/parser.cc ${PROJECT_SOURCE_DIR}/src/http/fetch.cc PROPERTIES
    COMPILE_OPTIONS -ftrivial-auto-var-init=uninitialized SKIP_PRECOMPILE_HEADERS ON)
endif()
semel_part(telemetry semel_guard fmt::fmt)
target_compile_definitions(semel_telemetry PRIVATE SEMEL_VERSION="${PROJECT_VERSION}")
semel_part(gateway semel_http semel_guard semel_telemetry fmt::fmt)
semel_part(api semel_http semel_guard semel_telemetry fmt::fmt)
# The description of the API is one file, which the binary serves as it is.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/openapi-claims.json)
file(READ ${PROJECT_SOURCE_DIR}/docs/openapi-claims.json openapi_text)
configure_file(cmake/openapi_document.cc.in ${PROJECT_BINARY_DIR}/openapi_document.cc @ONLY)
target_sources(semel_api PRIVATE ${PROJECT_BINARY_DIR}/openapi_document.cc)
semel_part(admin semel_gateway Boost::json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/openapi-admin.json)
file(READ ${PROJECT_SOURCE_DIR}/docs/openapi-admin.json openapi_admin)
string(REGEX REPLACE "\n *" "" openapi_admin "${openapi_admin}")
# In two halves: a compiler need not take a literal over 64 KiB.
string(LENGTH "${openapi_admin}" openapi_admin_length)
math(EXPR openapi_admin_half "${openapi_admin_length} / 2")
string(SUBSTRING "${openapi_admin}" 0 ${openapi_admin_half} openapi_admin_first)
string(SUBSTRING "${openapi_admin}" ${openapi_admin_half} -1 openapi_admin_second)
configure_file(${PROJECT_SOURCE_DIR}/cmake/openapi_admin.cc.in ${PROJECT_BINARY_DIR}/openapi_admin.cc @ONLY)
target_sources(semel_admin PRIVATE ${PROJECT_BINARY_DIR}/openapi_admin.cc)
target_compile_definitions(semel_admin PRIVATE SEMEL_VERSION="${PROJECT_VERSION}")
include(cmake/web.cmake)
semel_embed_web(semel_admin)

# It speaks the protocol itself, so there is nothing that it could lack. Not part of the library: semel/ has no names for it.
semel_sources(redis_sources store/redis)
add_library(semel_redis STATIC ${redis_sources})
target_include_directories(semel_redis PUBLIC ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(semel_redis PUBLIC semel OpenSSL::SSL PRIVATE semel_compile)
target_precompile_headers(semel_redis PRIVATE ${SEMEL_PRECOMPILED})

# The commands are a library too, so that tests can call what is behind them.
semel_sources(cli_sources cli cli/demo cli/hammer cli/keys)
list(FILTER cli_sources EXCLUDE REGEX "/(main|version|aligned_alloc)\\.cc$")
add_library(semel_commands STATIC ${cli_sources})
target_link_libraries(semel_commands PUBLIC semel_admin semel_api semel_embedded semel_postgres semel_redis Boost::json PRIVATE CLI11::CLI11 semel_compile)
target_precompile_headers(semel_commands PRIVATE ${SEMEL_PRECOMPILED})

add_executable(semel_cli src/cli/main.cc src/cli/version.cc)
set_target_properties(semel_cli PROPERTIES OUTPUT_NAME semel)
target_link_libraries(semel_cli PRIVATE semel_commands CLI11::CLI11 semel_compile)
target_compile_definitions(semel_cli PRIVATE SEMEL_VERSION="${PROJECT_VERSION}"
  SEMEL_COMPILER="${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" SEMEL_BUILD_TYPE="${CMAKE_BUILD_TYPE}")
if(NOT SEMEL_SANITIZE)
  # Coroutine frames of over 1 KiB miss the cache of glibc's allocator: docs/adr/0009-allocator.md
  pkg_check_modules(jemalloc REQUIRED IMPORTED_TARGET jemalloc)
  target_sources(semel_cli PRIVATE src/cli/aligned_alloc.cc)
  target_link_libraries(semel_cli PRIVATE PkgConfig::jemalloc)
endif()
install(TARGETS semel_cli COMPONENT gateway)
include(cmake/manual.cmake)
