# Stand-ins for NVIDIA's library, in folders of their own: the new one, the old one (of drivers of
# 2016), and one with next to nothing. Tests load them by its name.
foreach(kind new old bare)
  string(TOUPPER ${kind} define)
  add_library(nvml_${kind} SHARED ${CMAKE_CURRENT_SOURCE_DIR}/nvml/standin.c)
  set_target_properties(nvml_${kind} PROPERTIES OUTPUT_NAME nvidia-ml SUFFIX .so.1
    C_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/nvml/${kind})
  target_compile_definitions(nvml_${kind} PRIVATE ${define})
  target_compile_options(nvml_${kind} PRIVATE -fno-sanitize=all)
  target_link_options(nvml_${kind} PRIVATE -fno-sanitize=all)
  list(APPEND nvml_standins nvml_${kind})
endforeach()
