# Installs flashc from BUILD into a folder of its own under WORK, then builds and runs this program
# against it, as somebody outside the project would.
foreach(variable BUILD WORK CXX)
  if(NOT DEFINED ${variable})
    message(FATAL_ERROR "expected -D${variable}=...")
  endif()
endforeach()

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGV} failed:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
# What runs kernels takes the installed oneTBB, whether or not the system has one.
file(GLOB runtimes ${WORK}/prefix/lib/libflashc-rt.so ${WORK}/prefix/lib/*/libflashc-rt.so)
foreach(program ${WORK}/prefix/bin/flashc ${runtimes})
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${program} RESOLVED_DEPENDENCIES_VAR found
       UNRESOLVED_DEPENDENCIES_VAR missing PRE_INCLUDE_REGEXES "libtbb" PRE_EXCLUDE_REGEXES ".*")
  if(NOT "${found}" MATCHES "^${WORK}/prefix/(bin/\\.\\./)?lib(/[^/;]+)?/flashc/libtbb[^/;]*$")
    message(FATAL_ERROR "expected ${program} to find the installed libtbb, got '${found}'")
  endif()
endforeach()
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/build
  -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${WORK}/build)

function(run_attention)
  run(${ARGV})
  if(NOT output MATCHES "v\\[0\\] = (-?[0-9.]+), o\\[0\\] = (-?[0-9.]+)"
     OR NOT CMAKE_MATCH_1 STREQUAL CMAKE_MATCH_2)
    message(FATAL_ERROR "expected the first output to be the first value, got: ${output}")
  endif()
  message(STATUS "${output}")
endfunction()

run_attention(${WORK}/build/consumer)
# A bundle needs the runtime alone: no compiler is to be found.
run(${WORK}/prefix/bin/flashc compile --head-dim 64 --causal bottom-right
  --target x86-64-v3,x86-64-v4,x86-64-amx -o ${WORK}/attention.bundle)
run_attention(${CMAKE_COMMAND} -E env FLASHC_LIBRARY=${WORK}/none ${WORK}/build/bundle
  ${WORK}/attention.bundle)
