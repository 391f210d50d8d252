# Labels check, build, fuzz and install: tests that are scripts over the tree. They live in the
# ordinary build; fuzzing runs what build_clang has built.
set(scripts ${CMAKE_SOURCE_DIR}/scripts)

function(script_test name label timeout)
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout} SKIP_RETURN_CODE 77)
endfunction()

foreach(part format includes headers shell man names prefixes generated)
  script_test(check_${part} check 300 ${scripts}/check -B ${CMAKE_BINARY_DIR} ${part})
endforeach()
script_test(check_tidy check 1800 ${scripts}/check -B ${CMAKE_BINARY_DIR} tidy)
script_test(check_cfi_alone check 60 ${CMAKE_CURRENT_SOURCE_DIR}/system/cfi_alone.sh
  $<TARGET_FILE:room_cfi>)
script_test(check_deps check 300 ${CMAKE_CURRENT_SOURCE_DIR}/system/deps.sh)
script_test(check_build check 300 ${CMAKE_CURRENT_SOURCE_DIR}/system/build.sh)
script_test(check_mutations check 300 ${scripts}/mutate --list)
script_test(check_report check 300 ${CMAKE_CURRENT_SOURCE_DIR}/system/report.sh)
set_tests_properties(check_tidy PROPERTIES PROCESSORS 2 COST 1000)

script_test(build_clang build 1800 ${scripts}/fuzz --build)
set_tests_properties(build_clang PROPERTIES FIXTURES_SETUP clang PROCESSORS 2 COST 2000)

# The readers of people's files, spec, trace and perf.data, 20 s each; the others two (0 would be
# without end), as the label's budget of scripts/test has it. Minutes: scripts/test --long.
file(GLOB targets CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_*.c)
foreach(source ${targets})
  get_filename_component(name ${source} NAME_WE)
  string(REPLACE fuzz_ "" short ${name})
  set(seconds 20)
  if(NOT short MATCHES "^(spec|trace|perf_data)$")
    set(seconds 2)
  endif()
  script_test(${name} fuzz 600 ${scripts}/fuzz --seconds ${seconds} ${short})
  set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED clang COST 500)
endforeach()

if(TARGET cpuperf AND TARGET cpuperf_print)
  script_test(install install 600 ${CMAKE_CURRENT_SOURCE_DIR}/system/install.sh
    ${CMAKE_BINARY_DIR} ${CMAKE_C_COMPILER} "${CPUPERF_SANITIZE}" ${CMAKE_INSTALL_LIBDIR})
endif()
