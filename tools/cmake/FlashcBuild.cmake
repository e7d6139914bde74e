# What every flashc target shares, and the helpers that declare targets.
include(GNUInstallDirs)
find_package(Threads REQUIRED)
find_package(TBB REQUIRED)

add_compile_options(-Wall -Wextra -Wno-unused-parameter -fvisibility=hidden
                    -fvisibility-inlines-hidden -ffunction-sections -fdata-sections)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_link_options(-fuse-ld=lld)
endif()
# The build id tells compilers apart whose kernels are kept on disk (runtime/Support/BuildId.h).
add_link_options(-Wl,--gc-sections -Wl,--build-id=sha1)
if(FLASHC_SANITIZE)
  add_compile_options(-fsanitize=${FLASHC_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${FLASHC_SANITIZE})
else()
  # A tool built here runs on other distributions of the same or a newer glibc.
  add_link_options($<$<LINK_LANGUAGE:CXX>:-static-libstdc++> $<$<LINK_LANGUAGE:CXX>:-static-libgcc>)
endif()

# flashc_add_library(NAME SRCS a.cpp ... [LIBS ...]): a static library free of LLVM.
function(flashc_add_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;LIBS" ${ARGN})
  if(ARG_SRCS)
    add_library(${name} STATIC ${ARG_SRCS})
    set(scope PUBLIC)
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${name} ${scope} ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_link_libraries(${name} ${scope} ${ARG_LIBS})
endfunction()

# flashc_add_unittest(NAME SRCS x.cpp ... [LIBS ...]): a GoogleTest binary that CTest runs.
function(flashc_add_unittest name)
  cmake_parse_arguments(ARG "" "" "SRCS;LIBS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_SRCS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gmock GTest::gtest_main Threads::Threads)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/unit)
  add_test(NAME ${name} COMMAND ${name})
  # Tests compile, whatever the developer's cache has; those of the cache set a folder of their own.
  set_tests_properties(${name} PROPERTIES ENVIRONMENT
    "FLASHC_CACHE_SIZE=0;LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/test/Support/leaks.supp")
  set_property(GLOBAL APPEND PROPERTY FLASHC_TEST_TARGETS ${name})
endfunction()

# flashc_carry_tbb(TARGET): a program or library that runs kernels finds oneTBB beside itself, where the build
# puts it, so that both can be taken to a machine that has none; installed, in a folder of flashc's own, so that
# it takes no place of the system's; or else in the system.
function(flashc_carry_tbb target)
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "$ORIGIN;$ORIGIN/flashc;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/flashc")
  add_custom_command(TARGET ${target} POST_BUILD COMMAND ${CMAKE_COMMAND} -E copy_if_different
    $<TARGET_FILE:TBB::tbb> $<TARGET_FILE_DIR:${target}>/$<TARGET_SONAME_FILE_NAME:TBB::tbb>)
endfunction()

# flashc_strip(TARGET): tools are shipped stripped; sanitizer builds keep their symbols.
function(flashc_strip target)
  if(NOT FLASHC_SANITIZE)
    add_custom_command(TARGET ${target} POST_BUILD COMMAND ${CMAKE_STRIP} $<TARGET_FILE:${target}>)
  endif()
endfunction()
