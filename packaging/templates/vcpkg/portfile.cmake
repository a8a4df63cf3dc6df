# vcpkg port of the C library, written by make release. docs/releasing.md lists the checks made of it.
vcpkg_download_distfile(ARCHIVE
    URLS "https://github.com/sealane/sealane/releases/download/v@VERSION@/sealane-@VERSION@.tar.gz"
    FILENAME "sealane-@VERSION@.tar.gz"
    SKIP_SHA512
)
file(SHA256 "${ARCHIVE}" sum)
if(NOT sum STREQUAL "@SHA256@")
    message(FATAL_ERROR "sealane-@VERSION@.tar.gz has SHA-256 ${sum}")
endif()
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")

# The library alone: OpenSSL's provider is no part of this port.
vcpkg_execute_required_process(
    COMMAND make install-files "PREFIX=${CURRENT_PACKAGES_DIR}" "B=${CURRENT_BUILDTREES_DIR}/${TARGET_TRIPLET}"
    WORKING_DIRECTORY "${SOURCE_PATH}"
    LOGNAME "install-${TARGET_TRIPLET}"
)
if(VCPKG_LIBRARY_LINKAGE STREQUAL "static")
    file(GLOB shared "${CURRENT_PACKAGES_DIR}/lib/*.so*" "${CURRENT_PACKAGES_DIR}/lib/*.dylib")
    file(REMOVE ${shared})
endif()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/sealane)
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
