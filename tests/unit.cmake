# Label unit: one cmocka test per file, tests/unit/test_<room>_<module>.c. The files of a room are one program,
# unit_<room>, linked with everything and with the kit (tests/kit), which holds main and what tests share;
# bin/test_<room>_<module> is a link to it, by whose name it knows what to run.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/kit/*.c)
add_library(testkit STATIC ${sources})
# For those that read the tree: as definitions, its path would be one of each object, which no other checkout could use.
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/kit/paths.h CONTENT
  "#define SOURCE_DIR \"${CMAKE_SOURCE_DIR}\"\n#define TEST_DATA_DIR SOURCE_DIR \"/tests/data\"\n")
target_include_directories(testkit PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/kit ${CMAKE_CURRENT_BINARY_DIR}/kit)
target_link_libraries(testkit PUBLIC room_annotate room_dashboard room_expose room_push room_serve room_hosts PkgConfig::CMOCKA)

file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/unit/test_*.c)
# Another unwinder, to compare paths with.
pkg_check_modules(UNWIND IMPORTED_TARGET libunwind)
if(NOT UNWIND_FOUND)
  message(STATUS "no libunwind: test_agent_libunwind is not built (scripts/deps test)")
  list(FILTER tests EXCLUDE REGEX "/test_agent_libunwind\\.c$")
endif()
# Another decoder, to compare with. (What annotates code loads it when it is used.)
find_library(CAPSTONE_LIBRARY capstone)
if(NOT CAPSTONE_LIBRARY)
  message(STATUS "no libcapstone: test_patch_arm64 and test_patch_text are not built (scripts/deps test)")
  list(FILTER tests EXCLUDE REGEX "/test_patch_(arm64|text)\\.c$")
  set(CAPSTONE_LIBRARY "")
endif()
if(NOT TARGET print_lib)
  list(FILTER tests EXCLUDE REGEX "/test_print_[a-z_]*\\.c$")
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

# add_unit(NAME SOURCE...): a program. With -O0 it takes half the time to compile, and no more to run: what it calls is optimized.
function(add_unit name)
  add_executable(${name} ${ARGN})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/unit)
  target_link_libraries(${name} PRIVATE testkit)
  if(NOT CPUPERF_SANITIZE)
    target_compile_options(${name} PRIVATE -O0)
  endif()
endfunction()

# Which pointers its stack has is what is tested.
set_source_files_properties(unit/test_heap_reach.c PROPERTIES COMPILE_OPTIONS -O1)

# add_alone(NAME SOURCE): a program of its own.
function(add_alone name source)
  add_unit(${name} ${source})
  if(name MATCHES "^test_print_")
    target_link_libraries(${name} PRIVATE print_lib)
  endif()
  if(name MATCHES "^test_agent_")
    target_compile_options(${name} PRIVATE -fno-omit-frame-pointer)
    target_link_libraries(${name} PRIVATE agent_parts)
  endif()
  if(name MATCHES "^test_gpu_(gpm|nvidia|nvml)")
    target_compile_definitions(${name} PRIVATE NVML_STANDINS="${CMAKE_BINARY_DIR}/nvml")
    add_dependencies(${name} ${nvml_standins})
  endif()
  if(name STREQUAL "test_gpu_pm") # with stand-ins for the vendor's libraries: system.cmake
    target_compile_definitions(${name} PRIVATE CUDA_DIR="${CMAKE_CURRENT_BINARY_DIR}/cuda")
    add_dependencies(${name} cpuperf_gpu_pm standin_cuda standin_cupti standin_cupti_old)
  endif()
  if(name STREQUAL "test_agent_libunwind")
    target_link_libraries(${name} PRIVATE PkgConfig::UNWIND)
  endif()
  if(name STREQUAL "test_unwind_step") # lld makes linkage tables without unwind tables
    target_link_options(${name} PRIVATE -fuse-ld=bfd)
  endif()
  if(name STREQUAL "test_attach_stack" AND CMAKE_C_COMPILER_ID MATCHES "Clang" AND CPUPERF_SANITIZE MATCHES "address")
    # As gcc has it: the allocator is an object of its own, the program is none.
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so
      OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
    get_filename_component(runtime ${runtime} DIRECTORY)
    target_link_options(${name} PRIVATE -shared-libasan)
    set_target_properties(${name} PROPERTIES BUILD_RPATH ${runtime})
  endif()
endfunction()

# add_to_room(NAME SOURCE ROOM): a file of unit_ROOM, and the link to it.
function(add_to_room name source room)
  if(NOT TARGET unit_${room})
    add_unit(unit_${room})
    if(room STREQUAL "event")
      target_link_libraries(unit_event PRIVATE ${PFM_LIBRARY}) # what the tables are compared with
    endif()
    if(room STREQUAL "patch")
      target_link_libraries(unit_patch PRIVATE room_patch ${CAPSTONE_LIBRARY})
      target_include_directories(unit_patch PRIVATE ${CAPSTONE_INCLUDE_DIR})
    endif()
  endif()
  target_sources(unit_${room} PRIVATE ${source})
  add_custom_command(TARGET unit_${room} POST_BUILD VERBATIM COMMAND ${CMAKE_COMMAND} -E create_symlink
    $<TARGET_FILE_NAME:unit_${room}> $<TARGET_FILE_DIR:unit_${room}>/${name})
  add_custom_target(${name} DEPENDS unit_${room})
endfunction()

foreach(source ${tests})
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "^test_([a-z]+).*" "\\1" room ${name})
  # What defines functions for others stands in for parts of the program: in this test only (scripts/check-prefixes).
  # So do these headers, and the sources that tests include.
  file(STRINGS ${source} stands_in REGEX "^[a-z][a-z0-9_ *]*\\([^;]*$|^#include \"(test_(symbols|unwind)\\.h|.*\\.c)\"")
  list(FILTER stands_in EXCLUDE REGEX "^static ")
  if(stands_in OR name MATCHES "^test_(agent|attach|print|unwind_step|gpu_(gpm|nvidia|nvml|pm)|process_iterator)")
    add_alone(${name} ${source})
  else()
    add_to_room(${name} ${source} ${room})
  endif()
  declare_test(${name} unit ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name})
  if(name MATCHES "^test_(agent|attach|base|bpf|cfi|elf|event|host|pmu|survey|trace|unwind|wire)_"
     OR name STREQUAL "test_process_iterator")
    list(APPEND of_machine ${name})
  else()
    list(APPEND not_of_machine ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name})
  endif()
endforeach()
add_custom_target(unit_machine COMMAND ${CMAKE_COMMAND} -E rm -f ${not_of_machine} DEPENDS ${of_machine})
