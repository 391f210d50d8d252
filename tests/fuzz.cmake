# The fuzz targets, in a build of the preset fuzz: tests/fuzz/fuzz_<name>.c each. The preset builds
# the rooms with coverage; here is only the driver. scripts/fuzz runs them.
add_custom_target(fuzz_targets)
file(GLOB targets CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_*.c)
foreach(source ${targets})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE cpuperf_lib room_annotate room_hosts room_pcp room_push)
  if(name STREQUAL fuzz_navigator)
    target_link_libraries(${name} PRIVATE print_lib)
  endif()
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzz_targets ${name})
endforeach()
