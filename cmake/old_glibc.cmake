# What is shipped runs with an older glibc than that of the machine it is built on.
set(UMADVISOR_GLIBC "" CACHE STRING "Oldest glibc that what is built runs with, e.g. 2.28; empty: this system's")
if(UMADVISOR_GLIBC)
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    set(stubs ${CMAKE_BINARY_DIR}/old_glibc)
    execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/old_glibc/stubs.py ${UMADVISOR_GLIBC} ${stubs} ${CMAKE_C_COMPILER}
        COMMAND_ERROR_IS_FATAL ANY)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/old_glibc/stubs.py
        ${CMAKE_CURRENT_LIST_DIR}/old_glibc/since.c ${CMAKE_CURRENT_LIST_DIR}/old_glibc/start.c)
    # Threads and dlopen were libraries of their own before 2.34; those that are left of them are empty.
    add_link_options(-L${stubs} LINKER:--push-state,--no-as-needed,-l:libpthread.so.0,-l:libdl.so.2,--pop-state)
    # No shared library of this system's either: they need its glibc.
    add_link_options(-static-libstdc++ -static-libgcc)
    set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
    # What is shipped has no debug information; without it when linking, too, no path in it has a say in the build id.
    set(UMADVISOR_SHIPPED_LINK LINKER:--strip-debug)
endif()
