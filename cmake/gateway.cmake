# The gateway: HTTP, the joined parts, and the one binary `semel`.
find_package(CLI11 REQUIRED)

function(semel_part name)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  add_library(semel_${name} STATIC ${sources})
  target_include_directories(semel_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(semel_${name} PUBLIC semel ${ARGN} PRIVATE semel_compile)
  target_precompile_headers(semel_${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled.h)
endfunction()

semel_part(http)
semel_part(gateway semel_http semel_policy fmt::fmt)

file(GLOB cli_sources CONFIGURE_DEPENDS src/cli/*.cc)
add_executable(semel_cli ${cli_sources})
set_target_properties(semel_cli PROPERTIES OUTPUT_NAME semel)
target_link_libraries(semel_cli PRIVATE semel_gateway CLI11::CLI11 semel_compile)
target_compile_definitions(semel_cli PRIVATE SEMEL_VERSION="${PROJECT_VERSION}"
  SEMEL_COMPILER="${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" SEMEL_BUILD_TYPE="${CMAKE_BUILD_TYPE}")
install(TARGETS semel_cli)
