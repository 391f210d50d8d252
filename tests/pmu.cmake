# Label pmu: counting on a real PMU, QEMU's, in virtual machines (scripts/pmu-vm). What runs there
# is built in the build for arm64. The tests stand in the build of the host: pmu_build makes the
# images, pmu_boot_… boots a machine once and runs all its checks, pmu_<boot>_<check> tells how one
# of them ended. tests/pmu/table has the rows.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  add_custom_target(pmu_programs)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/pmu/pmu_*.c)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source} pmu/measured.c)
    target_link_libraries(${name} PRIVATE testkit)
    add_dependencies(pmu_programs ${name})
  endforeach()
  foreach(name loop hog)
    add_executable(${name} pmu/${name}.c)
    add_dependencies(pmu_programs ${name})
  endforeach()
  add_dependencies(pmu_programs mix)
  # What is sampled: the addresses of its functions are known before it runs.
  foreach(name loop mix)
    target_compile_options(${name} PRIVATE -fno-pie)
    target_link_options(${name} PRIVATE -no-pie)
    add_custom_command(TARGET ${name} POST_BUILD VERBATIM
      COMMAND ${CMAKE_NM} -n --defined-only $<TARGET_FILE:${name}> > $<TARGET_FILE:${name}>.nm)
  endforeach()
endif()
if(CMAKE_CROSSCOMPILING OR CPUPERF_FUZZ)
  return()
endif()

function(pmu_test name)
  cmake_parse_arguments(arg "" "" "COMMAND;PROPERTIES" ${ARGN})
  add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS pmu TIMEOUT 1000 SKIP_RETURN_CODE 77
    ${arg_PROPERTIES})
endfunction()

set(results ${CMAKE_BINARY_DIR}/pmu)
pmu_test(pmu_build COMMAND ${CMAKE_SOURCE_DIR}/scripts/pmu-vm/build
  PROPERTIES FIXTURES_SETUP pmu_build PROCESSORS 2 COST 1500 TIMEOUT 1800)

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${CMAKE_CURRENT_SOURCE_DIR}/pmu/table)
file(STRINGS pmu/table rows REGEX "^(boot|check)")
foreach(row ${rows})
  string(REGEX REPLACE " *\\| *" ";" row ${row})
  list(POP_FRONT row kind boot)
  if("${kind}" STREQUAL "boot")
    separate_arguments(options UNIX_COMMAND ${row})
    pmu_test(pmu_boot_${boot}
      COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/pmu/boot.sh ${boot} ${results}/${boot} ${options}
      PROPERTIES FIXTURES_REQUIRED pmu_build FIXTURES_SETUP pmu_${boot} COST 1000)
  else()
    list(POP_FRONT row name)
    pmu_test(pmu_${boot}_${name}
      COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/pmu/result.sh ${results}/${boot} ${name}
      PROPERTIES FIXTURES_REQUIRED pmu_${boot})
  endif()
endforeach()
