# What CPack makes an rpm of each component by: scripts/package rpm. (Packages of Debian: packaging/debian.)
set(CPACK_GENERATOR RPM)
set(CPACK_PACKAGE_NAME cpuperf)
set(CPACK_PACKAGE_VENDOR "The cpuperf authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Measure programs and machines by performance counters")
set(CPACK_COMPONENTS_ALL base library development)
if(TARGET spank_cpuperf)
  list(APPEND CPACK_COMPONENTS_ALL slurm)
endif()
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_SET_DESTDIR ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_RPM_PACKAGE_RELOCATABLE OFF)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/rpm_stage.cmake)

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_RELEASE 1)
set(CPACK_RPM_PACKAGE_LICENSE MIT)
set(CPACK_RPM_PACKAGE_GROUP Development/Tools)
set(CPACK_RPM_COMPRESSION_TYPE xz)
# Made again, elsewhere and later, it has the same bytes. Nothing else may require the agents.
set(CPACK_RPM_SPEC_MORE_DEFINE "%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1
%define _buildhost reproducible
%define _build_id_links none
%global __provides_exclude_from .*/libcpuperf-(agent|functions).*[.]so
%define _binary_payload w6.xzdio")
# The agent for programs of 32 bits runs in programs that have their C library.
set(CPACK_RPM_REQUIRES_EXCLUDE_FROM .*/libcpuperf-agent-i386\\.so)
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/lib/systemd /usr/lib/systemd/system /usr/lib/tmpfiles.d
  /usr/share/man /usr/share/man/man1 /usr/share/man/man3 /usr/share/man/man5 /usr/share/man/man7
  /usr/share/bash-completion /usr/share/bash-completion/completions /usr/share/zsh /usr/share/zsh/site-functions
  /usr/libexec /usr/lib64 /usr/lib64/pkgconfig /usr/lib64/slurm /usr/share/licenses)

set(exactly "${PROJECT_VERSION}-${CPACK_RPM_PACKAGE_RELEASE}")
set(CPACK_RPM_BASE_PACKAGE_NAME cpuperf)
# CPack has no variable of what is recommended; a group is a line of the spec, too.
set(CPACK_RPM_BASE_PACKAGE_GROUP "Development/Tools
Recommends: libmicrohttpd
Suggests: capstone
Suggests: libcurl
Suggests: elfutils-debuginfod-client")
set(CPACK_RPM_BASE_PACKAGE_DESCRIPTION
"cpuperf measures a program or a machine: counts of events, samples with stacks,
waits, the heap, regions that the program marks. It stores what the kernel
returned in files, and prints an answer. cpuperf_print reads the files, now or
years later, on this machine or another.")
# loaded: events of CPU models
set(CPACK_RPM_BASE_PACKAGE_REQUIRES "libpfm.so.4()(64bit)")
set(CPACK_RPM_LIBRARY_PACKAGE_REQUIRES "libpfm.so.4()(64bit)")
set(CPACK_RPM_LIBRARY_PACKAGE_NAME cpuperf-libs)
set(CPACK_RPM_LIBRARY_PACKAGE_SUMMARY "Performance counters of a program's own threads")
set(CPACK_RPM_LIBRARY_PACKAGE_DESCRIPTION
"libcpuperf counts events of a thread, a process or a CPU exactly, runs sessions
of cpuperf and returns their samples, from within a program.")
set(CPACK_RPM_DEVELOPMENT_PACKAGE_NAME cpuperf-devel)
set(CPACK_RPM_DEVELOPMENT_PACKAGE_SUMMARY "Headers and the static library of libcpuperf")
set(CPACK_RPM_DEVELOPMENT_PACKAGE_DESCRIPTION
"Headers of libcpuperf, also those that mark regions of programs and need no
library, the static library and the manual.")
set(CPACK_RPM_DEVELOPMENT_PACKAGE_REQUIRES "cpuperf-libs = ${exactly}")
set(CPACK_RPM_SLURM_PACKAGE_NAME cpuperf-slurm)
set(CPACK_RPM_SLURM_PACKAGE_SUMMARY "Measure the tasks of Slurm's jobs: srun --cpuperf")
set(CPACK_RPM_SLURM_PACKAGE_DESCRIPTION
"The plugin puts cpuperf in front of each task of a job. The administrator adds
it as a line of Slurm's plugstack.conf. It must be built for the version of
Slurm that loads it.")
set(CPACK_RPM_SLURM_PACKAGE_REQUIRES "cpuperf = ${exactly}")
foreach(component BASE LIBRARY DEVELOPMENT SLURM)
  set(CPACK_RPM_${component}_USER_FILELIST "%license /usr/share/licenses/${CPACK_RPM_${component}_PACKAGE_NAME}/LICENSE"
    "%license /usr/share/licenses/${CPACK_RPM_${component}_PACKAGE_NAME}/LICENSE.xxhash")
endforeach()
set(CPACK_CPUPERF_SOURCE ${CMAKE_SOURCE_DIR}) # for rpm_stage.cmake
include(CPack)
