# LLVM and MLIR 22 as static archives.
#
# The exported MLIR targets name the shared library `LLVM` (and some `MLIR`) in their link interface;
# linking both copies registers every type twice and crashes. Both names are taken out here, and
# FlashcLLVM brings the archives of the components that flashc uses instead.
find_library(FLASHC_ZSTD_LIBRARY NAMES libzstd.a REQUIRED)
find_library(FLASHC_ZLIB_LIBRARY NAMES libz.a REQUIRED)
find_package(LLVM 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/llvm)
find_package(MLIR REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${LLVM_CMAKE_DIR} ${MLIR_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})

function(flashc_strip_shared_llvm)
  get_property(targets DIRECTORY ${CMAKE_SOURCE_DIR} PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(libs ${target} INTERFACE_LINK_LIBRARIES)
    if(libs AND target MATCHES "^MLIR|^mlir")
      list(REMOVE_ITEM libs LLVM MLIR MLIRSparseTensorEnums)
      set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${libs}")
    endif()
  endforeach()
endfunction()
flashc_strip_shared_llvm()

get_target_property(support_libs LLVMSupport INTERFACE_LINK_LIBRARIES)
list(TRANSFORM support_libs REPLACE "zstd::libzstd_shared" "${FLASHC_ZSTD_LIBRARY}")
list(TRANSFORM support_libs REPLACE "ZLIB::ZLIB" "${FLASHC_ZLIB_LIBRARY}")
list(FILTER support_libs EXCLUDE REGEX "libz3")
set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES "${support_libs}")

llvm_map_components_to_libnames(FLASHC_LLVM_LIBS
  core support analysis bitreader bitwriter passes target object asmparser mcparser
  x86codegen x86asmparser x86desc x86info x86disassembler nvptxcodegen nvptxdesc nvptxinfo)
add_library(FlashcLLVM INTERFACE)
target_include_directories(FlashcLLVM SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_compile_definitions(FlashcLLVM INTERFACE ${LLVM_DEFINITIONS_LIST})
target_link_libraries(FlashcLLVM INTERFACE ${FLASHC_LLVM_LIBS})

# One precompiled header for all MLIR code: with -fpch-instantiate-templates a conversion pass compiles
# in about a second instead of twenty.
add_library(FlashcMLIRPch STATIC ${PROJECT_SOURCE_DIR}/tools/cmake/MLIRPch.cpp)
target_link_libraries(FlashcMLIRPch PUBLIC FlashcLLVM)
target_include_directories(FlashcMLIRPch PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
target_precompile_headers(FlashcMLIRPch PRIVATE ${PROJECT_SOURCE_DIR}/tools/cmake/MLIRPch.h)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Without time stamps the header may come from ccache into a fresh clone.
  add_compile_options(-fpch-instantiate-templates "SHELL:-Xclang -fno-pch-timestamp")
endif()

# flashc_add_mlir_library(NAME SRCS ... [LIBS ...] [DEPENDS ...]): a static library on MLIR.
function(flashc_add_mlir_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;LIBS;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SRCS})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_link_libraries(${name} PUBLIC FlashcLLVM ${ARG_LIBS})
  target_precompile_headers(${name} REUSE_FROM FlashcMLIRPch)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  get_property(generated GLOBAL PROPERTY FLASHC_TABLEGEN_TARGETS)
  if(generated)
    add_dependencies(${name} ${generated})
  endif()
endfunction()

# flashc_tablegen(TARGET FILE.td OUT ARGS ...): one generated file per OUT/ARGS group.
function(flashc_tablegen target)
  add_public_tablegen_target(${target})
  set_property(GLOBAL APPEND PROPERTY FLASHC_TABLEGEN_TARGETS ${target})
endfunction()
