# Kinds check, build, fuzz and install: tests that are scripts over the tree. They are declared in
# the ordinary build; fuzzing runs what build_fuzz has built.
set(scripts ${CMAKE_SOURCE_DIR}/scripts)
set(here ${CMAKE_CURRENT_SOURCE_DIR}/system)

foreach(part format includes headers shell man names prefixes constants generated)
  declare_test(check_${part} check ${scripts}/check -B ${CMAKE_BINARY_DIR} ${part})
endforeach()
declare_test(check_tidy check extra ${scripts}/check -B ${CMAKE_BINARY_DIR} tidy)
declare_test(check_deps check ${here}/deps.sh)
declare_test(check_build check extra ${here}/build.sh)
declare_test(check_abi check extra ${scripts}/check-abi -B ${CMAKE_BINARY_DIR})
declare_test(check_links check ${here}/links.sh ${CMAKE_BINARY_DIR})
declare_test(check_mutations check ${scripts}/mutate --list)
declare_test(check_report check ${here}/report.sh)
set_tests_properties(check_tidy PROPERTIES PROCESSORS 2)

# The fuzz targets and the libraries; then all the rest with clang.
declare_test(build_fuzz build ${scripts}/fuzz --build)
set_tests_properties(build_fuzz PROPERTIES FIXTURES_SETUP fuzz PROCESSORS 2 COST 2000)
declare_test(build_clang build extra ${scripts}/fuzz --build-all)
set_tests_properties(build_clang PROPERTIES DEPENDS build_fuzz PROCESSORS 2)

# Each target for 2 s (0 would be without end); the readers of people's files for 20 s more with
# --all. Minutes: scripts/test --long.
file(GLOB targets CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_*.c)
foreach(source ${targets})
  get_filename_component(name ${source} NAME_WE)
  string(REPLACE fuzz_ "" short ${name})
  declare_test(${name} fuzz ${scripts}/fuzz --seconds 2 ${short})
  set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED fuzz COST 500 RESOURCE_LOCK ${name})
  if(short MATCHES "^(spec|trace|perf_data)$")
    declare_test(${name}_longer fuzz extra ${scripts}/fuzz --seconds 20 ${short})
    set_tests_properties(${name}_longer PROPERTIES FIXTURES_REQUIRED fuzz RESOURCE_LOCK ${name})
  endif()
endforeach()

if(TARGET cpuperf AND TARGET cpuperf_print)
  declare_test(install install ${here}/install.sh ${CMAKE_BINARY_DIR} ${CMAKE_C_COMPILER}
    "${CPUPERF_SANITIZE}" ${CMAKE_INSTALL_LIBDIR})
endif()
