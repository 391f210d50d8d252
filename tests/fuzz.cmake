# The fuzz targets, in a build of the preset fuzz: tests/fuzz/fuzz_<name>.c each. The preset gives
# the rooms their coverage; here is only the driver. They are run by scripts/fuzz.
file(GLOB targets CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/fuzz_*.c)
foreach(source ${targets})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE cpuperf_lib)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endforeach()
