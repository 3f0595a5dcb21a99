# What goes beside the binary: its manual pages and completions, made from the binary itself, and what operators need.
# `cmake --install BUILD --component gateway` installs this; the Debian package has the same files (packaging/debian).
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)

set(manual ${PROJECT_BINARY_DIR}/manual)
file(GLOB manual_scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/packaging/manual/*.py)
add_custom_command(OUTPUT ${manual}/man/man1/semel.1
  COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/packaging/manual/generate.py $<TARGET_FILE:semel_cli>
    ${PROJECT_SOURCE_DIR} ${manual}
  DEPENDS semel_cli ${manual_scripts} ${PROJECT_SOURCE_DIR}/conf/semel.toml ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  COMMENT "Manual pages and completions" VERBATIM)
add_custom_target(semel_manual ALL DEPENDS ${manual}/man/man1/semel.1)

set(data ${CMAKE_INSTALL_DATADIR})
install(DIRECTORY ${manual}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT gateway)
install(FILES ${manual}/bash/semel DESTINATION ${data}/bash-completion/completions COMPONENT gateway)
install(FILES ${manual}/zsh/_semel DESTINATION ${data}/zsh/vendor-completions COMPONENT gateway)
install(FILES ${manual}/fish/semel.fish DESTINATION ${data}/fish/vendor_completions.d COMPONENT gateway)

install(DIRECTORY providers DESTINATION ${data}/semel COMPONENT gateway)
install(FILES packaging/prometheus/semel.rules.yml packaging/grafana/semel.json DESTINATION ${data}/semel/monitoring
  COMPONENT gateway)
install(FILES README.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT gateway)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT gateway PATTERN adr EXCLUDE)

# The unit expects the binary in /usr/bin and the configuration in /etc: an installation elsewhere edits it.
install(FILES conf/semel.toml DESTINATION ${CMAKE_INSTALL_SYSCONFDIR}/semel COMPONENT gateway)
install(FILES packaging/semel.service packaging/semel.socket DESTINATION lib/systemd/system COMPONENT gateway)
install(FILES packaging/semel.sysusers DESTINATION lib/sysusers.d RENAME semel.conf COMPONENT gateway)
