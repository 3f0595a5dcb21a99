# The library, in parts: whoever links semel::semel needs no RocksDB, no libpq and no JSON.
#
#   semel::semel      keys, fingerprints, once(), the memory store
#   semel::embedded   the store on RocksDB                               SEMEL_EMBEDDED
#   semel::postgres   the store on PostgreSQL, and one transaction       SEMEL_POSTGRES
#   semel::guard      rules for HTTP: the middleware, webhooks           SEMEL_GUARD
#
# Always static: a request is a dozen coroutines deep, and there is no promise about an ABI. Symbols are hidden, so a
# shared library that links Semel does not hand them on.
file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
function(semel_library name)
  cmake_parse_arguments(part "" "EXPORT" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${part_SOURCES})
  add_library(semel::${part_EXPORT} ALIAS ${name})
  target_include_directories(${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC ${part_PUBLIC} PRIVATE ${part_PRIVATE} $<BUILD_INTERFACE:semel_compile>)
  target_compile_features(${name} PUBLIC cxx_std_23)
  target_precompile_headers(${name} PRIVATE ${SEMEL_PRECOMPILED})
  string(REPLACE "_" "-" file ${name})
  set_target_properties(${name} PROPERTIES
    EXPORT_NAME ${part_EXPORT} OUTPUT_NAME ${file} CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  install(TARGETS ${name} EXPORT ${file}-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
  install(EXPORT ${file}-targets NAMESPACE semel:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/semel COMPONENT library)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${file}.pc.in ${PROJECT_BINARY_DIR}/${file}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${file}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
endfunction()

# Sources are found by folder, so adding a file needs no edit here. tools/tidy keeps the folders apart.
# semel_sources(VARIABLE FOLDER...): the sources that stand directly in these folders of src/.
function(semel_sources variable)
  set(found "")
  foreach(folder ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cc)
    list(APPEND found ${sources})
  endforeach()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(libzstd REQUIRED IMPORTED_TARGET libzstd)
semel_sources(sources core core/json runtime once store)
semel_library(semel EXPORT semel SOURCES ${sources}
  PUBLIC Boost::headers Threads::Threads PRIVATE OpenSSL::Crypto PkgConfig::xxhash PkgConfig::libzstd)
# No macro of Asio's is defined for it, here or by its user: the code in Asio's headers would then differ between the
# library and the rest of the user's program (docs/adr/0009-allocator.md).
if(SEMEL_FAILPOINTS)
  target_compile_definitions(semel PUBLIC $<BUILD_INTERFACE:SEMEL_FAILPOINTS>)
endif()

if(SEMEL_EMBEDDED)
  find_package(RocksDB 7.8 REQUIRED)
  semel_sources(sources store/embedded)
  semel_library(semel_embedded EXPORT embedded SOURCES ${sources} PUBLIC semel
    PRIVATE RocksDB::rocksdb-shared)
endif()

# Without it the target is empty, and whoever links it in this tree goes on.
if(SEMEL_POSTGRES)
  pkg_check_modules(libpq REQUIRED IMPORTED_TARGET libpq)
  semel_sources(sources store/postgres)
  semel_library(semel_postgres EXPORT postgres SOURCES ${sources} PUBLIC semel PRIVATE PkgConfig::libpq)
  target_compile_definitions(semel_postgres INTERFACE SEMEL_HAS_POSTGRES)
else()
  add_library(semel_postgres INTERFACE)
  target_link_libraries(semel_postgres INTERFACE semel)
endif()

# The rules are the gateway's too. toml++ is used as headers only, in one file.
if(SEMEL_GUARD)
  find_package(Boost 1.81 REQUIRED COMPONENTS json)
  find_package(fmt REQUIRED)
  semel_sources(sources reading policy inbox webhook config guard)
  include(cmake/providers.cmake)
  set(builtin_providers ${PROJECT_BINARY_DIR}/builtin_providers.cc)
  semel_embed_providers(${builtin_providers})
  semel_library(semel_guard EXPORT guard SOURCES ${sources} ${builtin_providers} PUBLIC semel
    PRIVATE fmt::fmt Boost::json)
endif()

install(DIRECTORY include/semel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/semel)
configure_package_config_file(cmake/semel-config.cmake.in semel-config.cmake INSTALL_DESTINATION ${config_folder})
# Before 1.0 a minor version may break what the last one promised: docs/api.md.
write_basic_package_version_file(semel-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/semel-config.cmake ${PROJECT_BINARY_DIR}/semel-config-version.cmake
  DESTINATION ${config_folder} COMPONENT library)
