# The manual for a browser, where mkdocs is installed; nothing else needs it. cpuperf --manual finds it in the build
# tree as in an install.
option(CPUPERF_MANUAL "Build the manual for a browser, if mkdocs is there" ON)
find_program(CPUPERF_MKDOCS mkdocs)
if(CPUPERF_MANUAL AND CPUPERF_MKDOCS AND NOT CPUPERF_STATIC)
  file(RELATIVE_PATH manual_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_DOCDIR}/manual)
  get_filename_component(manual ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${manual_from_bin} ABSOLUTE)
  set(doc ${CMAKE_SOURCE_DIR}/doc)
  file(GLOB sources CONFIGURE_DEPENDS ${doc}/mkdocs.yml ${doc}/mkdocs_hook.py ${doc}/manual/*.md ${doc}/theme/* ${doc}/*.svg ${doc}/*.png)
  add_custom_command(OUTPUT ${manual}/index.html
    COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1 ${CPUPERF_MKDOCS} build --quiet --strict
      --config-file ${doc}/mkdocs.yml --site-dir ${manual}
    DEPENDS ${sources} VERBATIM)
  add_custom_target(manual ALL DEPENDS ${manual}/index.html)
  install(DIRECTORY ${manual}/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/manual COMPONENT base)
endif()
