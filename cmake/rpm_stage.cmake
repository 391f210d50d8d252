# Between install and rpm: what cmake --install does not leave. Manual pages are compressed; each package has the
# licence, the base also the changes and what it consists of.
foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} name)
  set(name ${CPACK_RPM_${name}_PACKAGE_NAME})
  set(top ${CPACK_TEMPORARY_DIRECTORY}/${component})
  file(GLOB_RECURSE pages ${top}/usr/share/man/*.[1-8])
  foreach(page ${pages})
    execute_process(COMMAND gzip -9n ${page} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  file(COPY ${CPACK_CPUPERF_SOURCE}/LICENSE ${CPACK_CPUPERF_SOURCE}/build/package/LICENSE.xxhash DESTINATION ${top}/usr/share/licenses/${name})
endforeach()
set(doc ${CPACK_TEMPORARY_DIRECTORY}/base/usr/share/doc/cpuperf)
file(COPY ${CPACK_CPUPERF_SOURCE}/CHANGELOG.md DESTINATION ${doc})
execute_process(COMMAND ${CPACK_CPUPERF_SOURCE}/scripts/sbom ${CPACK_TEMPORARY_DIRECTORY}
  OUTPUT_FILE ${doc}/sbom.spdx.json COMMAND_ERROR_IS_FATAL ANY)
# rpmbuild leaves what is older than its time as it is, and the files of a tree are as old as its checkout.
execute_process(COMMAND find ${CPACK_TEMPORARY_DIRECTORY} -exec touch -h -d @$ENV{SOURCE_DATE_EPOCH} {} +
  COMMAND_ERROR_IS_FATAL ANY)
