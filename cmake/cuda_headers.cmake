# The shim needs CUDA's headers, not its compiler. Looked for beside nvcc, in CUDA_HOME and in the usual places.
find_package(CUDAToolkit 13.0 QUIET)
find_path(UMADVISOR_CUDA_INCLUDE cuda.h
    HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV CUDA_HOME ENV CUDA_PATH
    PATHS /usr/local/cuda /usr/local/cuda-13.0
    PATH_SUFFIXES include NO_DEFAULT_PATH
    DOC "Folder that holds cuda.h of CUDA Toolkit 13.0 or later")
if(NOT UMADVISOR_CUDA_INCLUDE)
    message(FATAL_ERROR "CUDA headers not found: install CUDA Toolkit 13.0 or later (the package cuda-driver-dev and "
        "cuda-cudart-dev are enough), or name its folder with -DUMADVISOR_CUDA_INCLUDE=DIR/include")
endif()
file(STRINGS ${UMADVISOR_CUDA_INCLUDE}/cuda.h cuda_version_line REGEX "^#define CUDA_VERSION [0-9]+$")
string(REGEX MATCH "[0-9]+$" UMADVISOR_CUDA_VERSION "${cuda_version_line}")
if(UMADVISOR_CUDA_VERSION LESS 13000)
    message(FATAL_ERROR "${UMADVISOR_CUDA_INCLUDE}/cuda.h is of CUDA ${UMADVISOR_CUDA_VERSION}: umadvisor needs the "
        "headers of CUDA Toolkit 13.0 (13000) or later")
endif()
add_library(cuda_headers INTERFACE)
target_include_directories(cuda_headers SYSTEM INTERFACE ${UMADVISOR_CUDA_INCLUDE})

# nvcc is optional: with it the examples are also built for the GPU.
find_program(UMADVISOR_NVCC nvcc HINTS ${UMADVISOR_CUDA_INCLUDE}/../bin ENV CUDA_HOME PATH_SUFFIXES bin)
