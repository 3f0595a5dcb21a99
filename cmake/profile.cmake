# What loads of requests have shown to be hot, for the linker that optimises the whole binary: docs/adr/0031-profile.md.
# `./dev profile` makes the file with semel_counting. One that fits the code no longer, or none, costs speed and nothing else.
if(CMAKE_INTERPROCEDURAL_OPTIMIZATION AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(profile ${PROJECT_SOURCE_DIR}/cmake/semel.profdata)
  # A function that is private to its file is known by the file's name, wherever the clone stands.
  set(by_file_name -Wl,-mllvm,-static-func-full-module-prefix=false)
  if(EXISTS ${profile})
    target_link_options(semel_cli PRIVATE -fprofile-use=${profile} -Wl,--no-lto-pgo-warn-mismatch ${by_file_name})
    set_property(TARGET semel_cli APPEND PROPERTY LINK_DEPENDS ${profile})
  endif()
  # The same objects; it counts which way it goes. Needs the compiler's runtime (libclang-rt-19-dev).
  semel_program(semel_counting EXCLUDE_FROM_ALL)
  target_link_options(semel_counting PRIVATE -fcs-profile-generate ${by_file_name})
endif()
