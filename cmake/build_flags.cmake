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
add_link_options(-Wl,-z,defs -Wl,--as-needed)

# What is loaded into a foreign process (the shim, simcuda) carries no sanitizer: the program decides about those.
# Everything else calls this.
function(umadvisor_sanitize target)
    if(UMADVISOR_SANITIZE)
        target_compile_options(${target} PUBLIC -fsanitize=${UMADVISOR_SANITIZE} -fno-sanitize-recover=all)
        target_link_options(${target} PUBLIC -fsanitize=${UMADVISOR_SANITIZE})
    endif()
endfunction()
