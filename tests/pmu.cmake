# Label pmu: counting on a real PMU, QEMU's, in virtual machines (scripts/pmu-vm). What runs there
# is built in the build for arm64. The tests stand in the build of the host: pmu_build_… makes an
# image, pmu_boot_… boots a machine once and runs all its checks, pmu_<boot>_<check> tells how one
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
  foreach(name loop hog marked)
    add_executable(${name} pmu/${name}.c)
    add_dependencies(pmu_programs ${name})
  endforeach()
  target_include_directories(marked PRIVATE ${CMAKE_SOURCE_DIR}/include)
  # no instructions but those of marks and loops
  target_compile_options(marked PRIVATE -fno-align-jumps -fno-align-labels -fno-align-loops)
  add_dependencies(pmu_programs mix cpuperf_agent)
  # Its return addresses are signed, and indirect branches to it have landing pads, where the CPU has both.
  add_executable(attached_protected system/attached.c)
  target_compile_options(attached_protected PRIVATE -O2 -g -fno-builtin -fno-sanitize=all -mbranch-protection=standard)
  target_link_options(attached_protected PRIVATE -fno-sanitize=all)
  target_link_libraries(attached_protected PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  add_dependencies(pmu_programs attached_protected)
  foreach(name attached attaches)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
    add_dependencies(pmu_programs ${name})
  endforeach()
  # What is sampled: the addresses of its functions are known before it runs.
  foreach(name loop mix)
    target_compile_options(${name} PRIVATE -fno-pie)
    target_link_options(${name} PRIVATE -no-pie)
    add_custom_command(TARGET ${name} POST_BUILD VERBATIM
      COMMAND ${CMAKE_NM} -n --defined-only $<TARGET_FILE:${name}> > $<TARGET_FILE:${name}>.nm)
  endforeach()
endif()
# What the checks of BPF programs measure there, on any machine.
find_package(Threads REQUIRED)
if(NOT TARGET pmu_programs)
  add_custom_target(pmu_programs)
endif()
foreach(name waits latency faults probes)
  add_executable(guest_${name} EXCLUDE_FROM_ALL system/${name}.c)
  target_compile_options(guest_${name} PRIVATE -O1 -fno-omit-frame-pointer
    -fno-optimize-sibling-calls -fno-sanitize=all -w)
  target_link_options(guest_${name} PRIVATE -fno-sanitize=all)
  target_link_libraries(guest_${name} PRIVATE Threads::Threads)
  add_dependencies(pmu_programs guest_${name})
endforeach()
# A program of 32 bits with the loader and the library that it needs there, and the same of 64.
if(TARGET cpuperf_agent_i386)
  set(narrow ${CMAKE_BINARY_DIR}/narrow)
  get_property(flags GLOBAL PROPERTY CPUPERF_I386_FLAGS)
  add_executable(guest_narrow EXCLUDE_FROM_ALL pmu/narrow.c)
  foreach(name narrow_32 narrow_time_64)
    add_executable(${name} EXCLUDE_FROM_ALL pmu/narrow.c)
    target_compile_options(${name} PRIVATE ${flags})
    target_link_options(${name} PRIVATE -m32)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${narrow} EXPORT_COMPILE_COMMANDS OFF)
  endforeach()
  target_compile_definitions(narrow_time_64 PRIVATE _TIME_BITS=64)
  foreach(name guest_narrow narrow_32 narrow_time_64)
    target_compile_options(${name} PRIVATE -O2 -fomit-frame-pointer -fno-builtin -fno-sanitize=all)
    target_link_options(${name} PRIVATE -fno-sanitize=all)
    target_link_libraries(${name} PRIVATE Threads::Threads)
    add_dependencies(pmu_programs ${name})
  endforeach()
  # the last two are what the agent names for older C libraries
  foreach(file libc.so.6 ld-linux.so.2 libdl.so.2 libpthread.so.0)
    execute_process(COMMAND ${CMAKE_C_COMPILER} -m32 -print-file-name=${file}
      OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
    add_custom_command(TARGET narrow_32 POST_BUILD VERBATIM COMMAND ${CMAKE_COMMAND} -E copy ${path} ${narrow})
  endforeach()
endif()
if(TARGET test_process_iterator)
  add_dependencies(pmu_programs test_process_iterator)
endif()
if(CMAKE_CROSSCOMPILING)
  return()
endif()

set(results ${CMAKE_BINARY_DIR}/pmu)
foreach(build programs arm64 arm64-asan)
  set(when long)
  if(build STREQUAL programs)
    set(when extra) # as what is run in it
  endif()
  declare_test(pmu_build_${build} pmu ${when} ${CMAKE_SOURCE_DIR}/scripts/pmu-vm/build ${build})
  set_tests_properties(pmu_build_${build} PROPERTIES FIXTURES_SETUP pmu_${build} PROCESSORS 4)
endforeach()

# The interface of the library on arm64, too.
declare_test(pmu_abi pmu extra ${CMAKE_SOURCE_DIR}/scripts/check-abi -B ${CMAKE_SOURCE_DIR}/build/arm64)
set_tests_properties(pmu_abi PROPERTIES FIXTURES_REQUIRED pmu_programs)

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${CMAKE_CURRENT_SOURCE_DIR}/pmu/table)
file(STRINGS pmu/table rows REGEX "^(boot|check) *\\|")
list(FILTER rows EXCLUDE REGEX "^check *\\| kernel ") # of pmu_kernels
foreach(row ${rows})
  string(REGEX REPLACE " *\\| *" ";" row ${row})
  list(POP_FRONT row kind boot third)
  if("${kind}" STREQUAL "boot")
    list(POP_FRONT row build)
    separate_arguments(options UNIX_COMMAND ${row})
    set(when_${boot} "")
    if("${third}" STREQUAL "--all")
      set(when_${boot} extra)
    elseif("${third}" STREQUAL "--long")
      set(when_${boot} long)
    endif()
    declare_test(pmu_boot_${boot} pmu ${when_${boot}} ${CMAKE_CURRENT_SOURCE_DIR}/pmu/boot.sh
      ${boot} ${results}/${boot} ${options})
    set_tests_properties(pmu_boot_${boot} PROPERTIES FIXTURES_REQUIRED pmu_${build}
      FIXTURES_SETUP pmu_${boot})
  else()
    declare_test(pmu_${boot}_${third} pmu ${when_${boot}} ${CMAKE_CURRENT_SOURCE_DIR}/pmu/result.sh
      ${results}/${boot} ${third})
    set_tests_properties(pmu_${boot}_${third} PROPERTIES FIXTURES_REQUIRED pmu_${boot})
  endif()
endforeach()

# The BPF programs on the kernels of other releases: minutes for each.
declare_test(pmu_kernels pmu long ${CMAKE_CURRENT_SOURCE_DIR}/pmu/kernels.sh ${results}/kernels)
set_tests_properties(pmu_kernels PROPERTIES PROCESSORS 4)
