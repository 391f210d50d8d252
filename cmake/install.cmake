# What cmake --install leaves: both programs, libcpuperf (shared and static) with headers and a .pc file, specs,
# schemas, man pages, completions. Nothing of the developer's tools.
# Components are packages (cmake/package.cmake): what is in none of the others is base's.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME base)
foreach(program cpuperf cpuperf_print)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
if(NOT CPUPERF_STATIC) # which is copied to a machine: programs alone
  install(TARGETS cpuperf_gpu_pm RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/cpuperf)
  install(FILES ${CPUPERF_ARCHIVE} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  install(TARGETS cpuperf_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
    NAMELINK_COMPONENT development)
endif()
install(TARGETS cpuperf_marks LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_COMPONENT development)
# Nobody links the agents: no place of the loader's has them.
install(TARGETS cpuperf_agent cpuperf_functions cpuperf_causal LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/cpuperf)
if(TARGET cpuperf_agent_i386)
  install(TARGETS cpuperf_agent_i386 LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/cpuperf)
endif()
# The .pc file finds its prefix by itself, so that the tree may be moved.
set(pc_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH pc_prefix ${pc_dir} ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
foreach(pc cpuperf cpuperf-compat)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/${pc}.pc.in ${CMAKE_BINARY_DIR}/${pc}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${pc}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endforeach()

# install_files(COMPONENT DESTINATION PATTERN...): the files that match, relative to the top.
function(install_files component destination)
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/)
  file(GLOB files CONFIGURE_DEPENDS ${ARGN})
  install(FILES ${files} DESTINATION ${destination} COMPONENT ${component})
  set_property(GLOBAL APPEND PROPERTY CPUPERF_INSTALLED_FILES ${files})
endfunction()

install_files(development ${CMAKE_INSTALL_INCLUDEDIR}/cpuperf include/cpuperf/*.h)
install_files(development ${CMAKE_INSTALL_INCLUDEDIR}/cpuperf/compat include/cpuperf/compat/*.h)
install_files(base ${CMAKE_INSTALL_DATADIR}/cpuperf/specs specs/*.cpspec)
install_files(base ${CMAKE_INSTALL_DATADIR}/cpuperf/examples examples/*.c)
install_files(base ${CMAKE_INSTALL_DATADIR}/cpuperf/python bindings/python/*.py)
install_files(development ${CMAKE_INSTALL_DATADIR}/cpuperf/fortran bindings/fortran/*.f90)
install_files(base ${CMAKE_INSTALL_DATADIR}/cpuperf service/*.json)
install_files(base ${CMAKE_INSTALL_DATADIR}/cpuperf/schemas schemas/*.json schemas/*.md)
install_files(base ${CMAKE_INSTALL_MANDIR}/man1 doc/*.1)
install_files(development ${CMAKE_INSTALL_MANDIR}/man3 doc/*.3)
install_files(base ${CMAKE_INSTALL_MANDIR}/man5 doc/*.5)
install_files(base ${CMAKE_INSTALL_MANDIR}/man7 doc/*.7)
# For systemd: nothing is enabled or started by installing it. A unit needs the whole path of its program, and where
# that is --prefix may say.
install(CODE "
  get_filename_component(CPUPERF_BINDIR \"${CMAKE_INSTALL_BINDIR}\" ABSOLUTE BASE_DIR \"\${CMAKE_INSTALL_PREFIX}\")
  configure_file(\"${CMAKE_SOURCE_DIR}/service/cpuperf@.service.in\" \"${CMAKE_BINARY_DIR}/cpuperf@.service\" @ONLY)")
install(FILES ${CMAKE_BINARY_DIR}/cpuperf@.service DESTINATION lib/systemd/system)
install(FILES ${CMAKE_SOURCE_DIR}/service/cpuperf.tmpfiles RENAME cpuperf.conf DESTINATION lib/tmpfiles.d)
set(CPUPERF_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "Where zsh finds completions")
install_files(base ${CPUPERF_ZSH_DIR} doc/completions/_*)
# bash looks for a completion under the plain name of the program.
foreach(program cpuperf cpuperf_print)
  install(FILES ${CMAKE_SOURCE_DIR}/doc/completions/${program}.bash RENAME ${program}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endforeach()
# For Slurm: a line in its plugstack.conf loads the plugin, which puts cpuperf-srun in front of tasks.
if(TARGET spank_cpuperf)
  install(TARGETS spank_cpuperf LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/slurm COMPONENT slurm)
  install(TARGETS cpuperf-srun RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT slurm)
endif()

# What system tests run, rather than the folder of a build: installed elsewhere (DESTDIR), and then moved, as it may be.
set(tested ${CMAKE_BINARY_DIR}/tested)
set(installed_targets cpuperf_gpu_pm cpuperf_marks cpuperf_agent cpuperf_functions cpuperf_causal cpuperf_agent_i386 cpuperf_shared cpuperf cpuperf_print
  spank_cpuperf cpuperf-srun manual)
foreach(target ${installed_targets})
  if(NOT TARGET ${target})
    list(REMOVE_ITEM installed_targets ${target})
  endif()
endforeach()
get_property(files GLOBAL PROPERTY CPUPERF_INSTALLED_FILES)
file(GLOB services CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/service/* ${CMAKE_SOURCE_DIR}/doc/completions/*)
add_custom_command(OUTPUT ${tested}.stamp
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${tested} ${tested}.new
  COMMAND sh -c "DESTDIR='${tested}.new' '${CMAKE_COMMAND}' --install '${CMAKE_BINARY_DIR}' >'${tested}.log'"
  COMMAND ${CMAKE_COMMAND} -E rename ${tested}.new${CMAKE_INSTALL_PREFIX} ${tested}
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${tested}.new
  COMMAND ${CMAKE_COMMAND} -E touch ${tested}.stamp
  DEPENDS ${installed_targets} ${CPUPERF_ARCHIVE} ${files} ${services} ${CMAKE_CURRENT_LIST_FILE}
  VERBATIM COMMENT "Installing what system tests run")
add_custom_target(tested DEPENDS ${tested}.stamp)
if(TARGET cpuperf_archive) # its file is made by a rule of another folder
  add_dependencies(tested cpuperf_archive)
endif()
