# One place for the language level, warnings and sanitizers of every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

add_compile_options(
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wall> $<$<COMPILE_LANGUAGE:C,CXX>:-Wextra> $<$<COMPILE_LANGUAGE:C,CXX>:-Werror>
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wshadow> $<$<COMPILE_LANGUAGE:C,CXX>:-fno-omit-frame-pointer>
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    # The id of a CUmemLocation is a number in some versions of cuda.h and in a union in others: braces serve both. What
    # keeps GCC from knowing a test's values in advance is not asked of clang, which builds the tests unoptimised.
    add_compile_options(-Wno-braced-scalar-init -Wno-unknown-attributes)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-psabi>) # how GCC 9 and 10.1 differ there is nothing to us
endif()
add_link_options(-Wl,-z,defs -Wl,--as-needed)

# What is loaded into a foreign process (the shim, simcuda) carries no sanitizer: the program decides about those.
# Everything else calls this.
function(umadvisor_sanitize target)
    if(UMADVISOR_SANITIZE)
        target_compile_options(${target} PUBLIC -fsanitize=${UMADVISOR_SANITIZE} -fno-sanitize-recover=all)
        target_link_options(${target} PUBLIC -fsanitize=${UMADVISOR_SANITIZE})
        if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
            # The driver's functions that are missing are one function of ours, whatever their types.
            target_compile_options(${target} PUBLIC -fno-sanitize=function)
            foreach(sanitizer address thread) # GCC tells the source by these
                if(UMADVISOR_SANITIZE MATCHES ${sanitizer})
                    string(TOUPPER ${sanitizer} macro)
                    target_compile_definitions(${target} PUBLIC __SANITIZE_${macro}__)
                endif()
            endforeach()
        endif()
    endif()
endfunction()
