# The programs as static ones (CPUPERF_STATIC), of the archives that the distribution has. What others load when it is
# used is linked in (lib/linked), or is not there: libcurl and libdebuginfod, as nobody would update the TLS in a file that
# was copied somewhere, and the libraries of GPUs, which belong to their driver. The agents stay shared libraries.
foreach(library JANSSON ZSTD ELF DW LZMA ZLIB XXHASH NCURSESW SQLITE BPF)
  get_target_property(links PkgConfig::${library} INTERFACE_LINK_LIBRARIES)
  if(NOT links MATCHES "\\.a")
    message(FATAL_ERROR "${${library}_MODULE_NAME}: has no archive to link statically: ${links}")
  endif()
endforeach()
# What the archives need, in this order, behind them.
foreach(name bz2 lzma elf z zstd tinfo microhttpd capstone pfm)
  find_library(STATIC_${name} ${name} REQUIRED)
endforeach()
set_property(TARGET PkgConfig::DW APPEND PROPERTY INTERFACE_LINK_LIBRARIES
  ${STATIC_elf} ${STATIC_lzma} ${STATIC_bz2} ${STATIC_z} ${STATIC_zstd})
set_property(TARGET PkgConfig::BPF APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${STATIC_elf} ${STATIC_z} ${STATIC_zstd})
set_property(TARGET PkgConfig::ELF APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${STATIC_z} ${STATIC_zstd})
set_property(TARGET PkgConfig::SQLITE APPEND PROPERTY INTERFACE_LINK_LIBRARIES m)
set_property(TARGET PkgConfig::NCURSESW APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${STATIC_tinfo})
add_compile_definitions(CPUPERF_STATIC)

# link_statically(PROGRAM LIBRARY...): with these in place of what it loads.
function(link_statically program)
  target_sources(${program} PRIVATE ${CMAKE_SOURCE_DIR}/lib/linked/linked.c)
  foreach(library ${ARGN})
    target_sources(${program} PRIVATE ${CMAKE_SOURCE_DIR}/lib/linked/${library}.c)
    target_link_libraries(${program} PRIVATE ${STATIC_${library}})
  endforeach()
  # a position of its own each time it runs, as that of any program
  target_compile_options(${program} PRIVATE -fPIE)
  target_link_options(${program} PRIVATE -static-pie)
endfunction()
