# Label unit: one cmocka program per file, tests/unit/test_<room>_<module>.c, linked with everything
# and with the kit (tests/kit), which holds main and what tests share.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/kit/*.c)
add_library(testkit STATIC ${sources})
target_compile_definitions(testkit PUBLIC TEST_DATA_DIR="${CMAKE_CURRENT_SOURCE_DIR}/data"
  SOURCE_DIR="${CMAKE_SOURCE_DIR}")
target_include_directories(testkit PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/kit)
target_link_libraries(testkit PUBLIC room_annotate room_dashboard room_expose room_push room_serve room_hosts room_pcp PkgConfig::CMOCKA)

file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/unit/test_*.c)
# Another unwinder, to compare paths with.
pkg_check_modules(UNWIND IMPORTED_TARGET libunwind)
if(NOT UNWIND_FOUND)
  message(STATUS "no libunwind: test_agent_libunwind is not built (scripts/deps test)")
  list(FILTER tests EXCLUDE REGEX "/test_agent_libunwind\\.c$")
endif()
# The agent without its hooks, which would stand before the tests' own allocator.
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/lib/agent/heap/*.c)
list(FILTER sources EXCLUDE REGEX "/(attach|exceptions|exec|hooks|new|syscall|wrappers)\\.c$")
add_library(agent_parts STATIC ${sources})
target_include_directories(agent_parts PRIVATE ${CMAKE_SOURCE_DIR}/lib ${CMAKE_SOURCE_DIR}/include)
target_compile_options(agent_parts PRIVATE -fno-omit-frame-pointer -fno-sanitize=all)
target_link_libraries(agent_parts PUBLIC room_cfi)

# Those of rooms with code or layouts that depend on the machine, which are run on arm64, too, and
# what tests/pmu/guest/tasks.sh runs; there it removes the others, which may be of an older build.
set(of_machine)
set(not_of_machine)
foreach(source ${tests})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit)
  target_link_libraries(${name} PRIVATE testkit)
  if(name MATCHES "^test_agent_")
    target_compile_options(${name} PRIVATE -fno-omit-frame-pointer)
    target_link_libraries(${name} PRIVATE agent_parts)
  endif()
  if(name STREQUAL "test_agent_libunwind")
    target_link_libraries(${name} PRIVATE PkgConfig::UNWIND)
  endif()
  declare_test(${name} unit ${name})
  if(name MATCHES "^test_(agent|attach|base|bpf|cfi|elf|event|host|pmu|survey|trace|unwind|wire)_"
     OR name STREQUAL "test_collect_process_iterator")
    list(APPEND of_machine ${name})
  else()
    list(APPEND not_of_machine ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name})
  endif()
endforeach()
add_custom_target(unit_machine COMMAND ${CMAKE_COMMAND} -E rm -f ${not_of_machine} DEPENDS ${of_machine})
