# Labels system and sanitized: the programs as a person runs them, on this machine: tests/system/test_*.sh and
# test_*.py. They find in the environment CPUPERF, CPUPERF_PRINT, KNOWN, MIX, BUSY, PHASES, DEAF, TOUCH (programs) and
# SOURCE_DIR, and skip with exit code 77 and a line "skip: reason". They run beside each other and beside whatever
# else the machine does: no test may need it alone.
file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/system/test_*.sh
  ${CMAKE_CURRENT_SOURCE_DIR}/system/test_*.py)
# What test_cpuperf_truth.py counts: a program that does known things.
add_executable(known ${CMAKE_CURRENT_SOURCE_DIR}/system/known.c)
target_compile_options(known PRIVATE -fno-sanitize=all)
target_link_options(known PRIVATE -fno-sanitize=all)
set_target_properties(known PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
# What test_sampling_*.py sample: a program whose profile is known, in every build the same.
find_package(Threads REQUIRED)
add_executable(mix ${CMAKE_CURRENT_SOURCE_DIR}/system/mix.c)
target_compile_options(mix PRIVATE -O2 -fno-omit-frame-pointer -fno-sanitize=all)
target_link_options(mix PRIVATE -fno-sanitize=all)
target_link_libraries(mix PRIVATE Threads::Threads)
# What test_collect_truth.py reads of: a process that knows what it uses, without a sanitizer's share.
add_executable(busy ${CMAKE_CURRENT_SOURCE_DIR}/system/busy.c)
target_compile_options(busy PRIVATE -fno-sanitize=all)
target_link_options(busy PRIVATE -fno-sanitize=all)
target_link_libraries(busy PRIVATE Threads::Threads)
set_target_properties(busy PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
# What test_flight_recorder.py records: a program that changes its function, and crashes.
add_executable(phases ${CMAKE_CURRENT_SOURCE_DIR}/system/phases.c)
target_compile_options(phases PRIVATE -O1 -fno-omit-frame-pointer -fno-sanitize=all)
target_link_options(phases PRIVATE -fno-sanitize=all)
set_target_properties(phases PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
# What test_command.py runs: less memory than any process has that is about to call exec, or much more.
add_executable(touch ${CMAKE_CURRENT_SOURCE_DIR}/system/touch.c)
target_compile_options(touch PRIVATE -fno-sanitize=all)
target_link_options(touch PRIVATE -fno-sanitize=all -static)
set_target_properties(touch PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
# What test_examples.py measures: programs with a known fault each, as their pages say to build them.
set(examples false_sharing lock_convoy leak n_plus_1_reads cache_hostile busy_wait slow_start fork_storm
  page_fault_storm noisy_neighbour)
set(examples_dir ${CMAKE_CURRENT_BINARY_DIR}/examples)
foreach(example ${examples})
  add_executable(${example} ${CMAKE_SOURCE_DIR}/examples/${example}.c)
  target_compile_options(${example} PRIVATE -U_GNU_SOURCE -O2 -g -fno-omit-frame-pointer -fno-sanitize=all)
  target_link_options(${example} PRIVATE -fno-sanitize=all)
  target_link_libraries(${example} PRIVATE Threads::Threads)
  set_target_properties(${example} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${examples_dir})
endforeach()
# In place of NVIDIA's libraries, where test_gpu_pm.py and test_gpu_pm look for them.
set(cuda_dir ${CMAKE_CURRENT_BINARY_DIR}/cuda)
foreach(library "cuda:libcuda.so.1:CUDA:cuda" "cupti:libcupti.so.12:CUPTI:cuda" "cupti_old:libcupti.so.12:OLD:cuda_old")
  string(REPLACE ":" ";" library ${library})
  list(GET library 0 name)
  list(GET library 1 file)
  list(GET library 2 definition)
  list(GET library 3 folder)
  add_library(standin_${name} MODULE ${CMAKE_CURRENT_SOURCE_DIR}/cuda/standin.c)
  target_compile_definitions(standin_${name} PRIVATE ${definition})
  target_compile_options(standin_${name} PRIVATE -fno-sanitize=all)
  target_link_options(standin_${name} PRIVATE -fno-sanitize=all)
  target_include_directories(standin_${name} PRIVATE ${CMAKE_SOURCE_DIR}/lib)
  set_target_properties(standin_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${file} SUFFIX "" C_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${folder})
endforeach()
# What test_agent_heap.py and test_heap.py measure: a program whose heap is known. Its calls are as written.
add_executable(heap ${CMAKE_CURRENT_SOURCE_DIR}/system/heap.c)
target_include_directories(heap PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_compile_options(heap PRIVATE -O2 -g -fomit-frame-pointer -fno-builtin -fno-sanitize=all)
target_link_options(heap PRIVATE -fno-sanitize=all)
target_link_libraries(heap PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(heap PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
# What test_memory_map.py measures: a program whose mappings are known.
add_executable(mapped ${CMAKE_CURRENT_SOURCE_DIR}/system/mapped.c)
target_compile_options(mapped PRIVATE -fno-builtin -fno-sanitize=all)
target_link_options(mapped PRIVATE -fno-sanitize=all)
set_target_properties(mapped PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
# What test_agent_attach.py attaches to, and what attaches again and again.
add_executable(attached ${CMAKE_CURRENT_SOURCE_DIR}/system/attached.c)
target_compile_options(attached PRIVATE -O2 -g -fno-builtin -fno-sanitize=all)
target_link_options(attached PRIVATE -fno-sanitize=all)
target_link_libraries(attached PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
set_target_properties(attached PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
add_executable(attaches ${CMAKE_CURRENT_SOURCE_DIR}/system/attaches.c)
target_link_libraries(attaches PRIVATE cpuperf_lib)
# What test_whole.py compares stacks with: a session's, unwound by both sides.
add_executable(unwound ${CMAKE_CURRENT_SOURCE_DIR}/system/unwound.c)
target_link_libraries(unwound PRIVATE cpuperf_lib)
set_target_properties(unwound PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
set_target_properties(attaches PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
# What test_hooks.py and scripts/bench-hooks count with.
add_executable(hooked ${CMAKE_CURRENT_SOURCE_DIR}/system/hooked.c)
target_link_libraries(hooked PRIVATE cpuperf_lib)
set_target_properties(hooked PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
# What test_survey_hangs.py mounts.
add_executable(deaf ${CMAKE_CURRENT_SOURCE_DIR}/system/deaf.c)
target_compile_options(deaf PRIVATE -fno-sanitize=all)
target_link_options(deaf PRIVATE -fno-sanitize=all)
set_target_properties(deaf PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})

# declare_system_test(NAME KIND SCRIPT TREE): with the programs of this tree: an installed one, or a build that looks like it.
function(declare_system_test name kind script tree)
  set(interpreter "")
  if(script MATCHES "\\.py$")
    set(interpreter /usr/bin/python3)
  endif()
  set(extra "")
  if(name MATCHES "^[a-z]*_(hosts_ssh|pcp|prometheus)$") # what they need is there with scripts/test --long
    set(extra extra)
  endif()
  declare_test(${name} ${kind} ${extra} ${interpreter} ${script})
  set(bin ${tree}/bin)
  set(lib ${tree}/${tested_libdir})
  set(spank ${lib}/slurm/spank_cpuperf.so)
  if(tree STREQUAL CMAKE_BINARY_DIR)
    set(lib ${tree}/${CMAKE_INSTALL_LIBDIR})
    set(spank ${bin}/spank_cpuperf.so)
  endif()
  if(NOT TARGET spank_cpuperf OR (CPUPERF_TESTED AND NOT EXISTS ${spank}))
    set(spank "")
  endif()
  set(variables ASAN_OPTIONS=${asan_options} CPUPERF=${bin}/cpuperf CPUPERF_PRINT=${bin}/cpuperf_print
    MARKS=${lib}/libcpuperf_marks.so.1 AGENT=${lib}/cpuperf/libcpuperf-agent.so HOOKS=${lib}/cpuperf/libcpuperf-functions.so
    EXPERIMENTS=${lib}/cpuperf/libcpuperf-causal.so SPANK=${spank}
    EXAMPLES=${examples_dir} CUDA_DIR=${CMAKE_CURRENT_BINARY_DIR}/cuda NVML_STANDINS=${CMAKE_BINARY_DIR}/nvml
    SOURCE_DIR=${CMAKE_SOURCE_DIR} PYTHONDONTWRITEBYTECODE=1 XDG_STATE_HOME=${CMAKE_CURRENT_BINARY_DIR})
  foreach(program known mix heap mapped attached attaches hooked busy phases deaf touch unwound)
    string(TOUPPER ${program} variable)
    list(APPEND variables ${variable}=$<TARGET_FILE:${program}>)
  endforeach()
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${variables}")
  # Files that other processes mapped meanwhile are in a session, too: what is asked of "program" is then of both.
  if(name MATCHES "_export_parquet$")
    set_tests_properties(${name} PROPERTIES RESOURCE_LOCK export_parquet)
  endif()
  # One replaces instructions of the C library in its programs, where the others would set breakpoints: which is refused.
  if(name MATCHES "_(functions_patched|manual|functions_report|functions_compiled|function_values|calls|calls_longer|calls_when|ready_calls)$")
    set_tests_properties(${name} PROPERTIES RESOURCE_LOCK entries_of_functions)
  endif()
  # Each takes all CPUs for some seconds, by a real-time priority.
  if(name MATCHES "_causal(_attach|_coz)?$")
    set_tests_properties(${name} PROPERTIES RESOURCE_LOCK all_cpus)
  endif()
endfunction()

# The tests take the programs as they are installed, moved to another place: target tested (cmake/install.cmake), in a
# build with sanitizers that of the preset gcc, which takes a fourth of the time. With the programs of the build with
# sanitizers itself they are of the kind sanitized.
if(TARGET cpuperf AND TARGET cpuperf_print)
  foreach(script ${tests})
    get_filename_component(name ${script} NAME_WE)
    string(REPLACE test_ "" name ${name})
    declare_system_test(system_${name} system ${script} ${tested_tree})
    if(CPUPERF_SANITIZE AND NOT name STREQUAL places) # which is of installed trees alone
      declare_system_test(sanitized_${name} sanitized ${script} ${CMAKE_BINARY_DIR})
      # not at once: what the one does to the machine the other would see, as marks in the records of perf
      set_property(TEST system_${name} sanitized_${name} APPEND PROPERTY RESOURCE_LOCK twins_of_${name})
    endif()
    if(CPUPERF_SANITIZE)
      set_tests_properties(system_${name} PROPERTIES FIXTURES_REQUIRED gcc)
    endif()
  endforeach()
endif()
