# Compiles the files of web/ into a target: semel_embed_web(TARGET). They are packed and named by their hash on the way;
# Python does it, so no tool for JavaScript is needed.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)

function(semel_embed_web target)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/web/*)
  set(output ${PROJECT_BINARY_DIR}/web_files.cc)
  add_custom_command(OUTPUT ${output}
    COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/cmake/embed_web.py ${PROJECT_SOURCE_DIR}/web ${output}
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/embed_web.py
    COMMENT "The dashboard's files" VERBATIM)
  target_sources(${target} PRIVATE ${output})
  set_source_files_properties(${output} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()
