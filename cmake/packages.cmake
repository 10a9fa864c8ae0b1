# What cmake --install puts where comes from each folder; here is how it is packed by tools/package, which runs CPack.
if(NOT UMADVISOR_GLIBC)
    return() # it would run on this system alone
endif()

# Static libraries and headers of others are in what is shipped: their licences, and a list of them (SPDX).
set(carried ${CMAKE_BINARY_DIR}/carried)
add_custom_target(carried ALL COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/carried.py ${PROJECT_VERSION} ${CMAKE_BINARY_DIR} ${carried} ${CMAKE_SYSTEM_PROCESSOR}
    COMMENT "Collecting the licences of what is carried" VERBATIM)
add_dependencies(carried umadvisor umadvisor_shim)
install(DIRECTORY ${carried}/ DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_PACKAGE_VENDOR umadvisor)
set(CPACK_PACKAGE_CONTACT "umadvisor's maintainers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Finds where CUDA programs lose time moving memory")
set(CPACK_PACKAGE_DESCRIPTION "umadvisor is preloaded into an unmodified program, records how memory is allocated, copied, touched and moved, and says
afterwards what costs time, on which source line, and what to write instead.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/reproducible.cmake)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= ${UMADVISOR_GLIBC})")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64) # by default that of this machine
    set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE "Apache-2.0")
set(CPACK_RPM_PACKAGE_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_RPM_PACKAGE_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_RPM_PACKAGE_REQUIRES "glibc >= ${UMADVISOR_GLIBC}")
set(CPACK_RPM_PACKAGE_AUTOREQPROV no) # libunwind.so.8 is nobody else's
set(CPACK_RPM_SPEC_MORE_DEFINE "%define _buildhost localhost
%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1
%define _build_id_links none")
include(CPack)
