# Toolchain file: builds for aarch64 on another machine. UMADVISOR_SYSROOT has the libraries, unpacked from Debian's packages for it;
# headers alone are the same for all. What runs during the build, and the tests, run in an emulator.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH ${UMADVISOR_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES UMADVISOR_SYSROOT)
set(ENV{PKG_CONFIG_LIBDIR} ${UMADVISOR_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${UMADVISOR_SYSROOT})
set(ENV{PKG_CONFIG_ALLOW_SYSTEM_CFLAGS} 1) # /usr/include is that of UMADVISOR_SYSROOT
