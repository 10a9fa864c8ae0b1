#pragma once

#include "tools/simcuda/image.hpp"

/// What code compiled with portable.hpp calls in the runtime besides the CUDA API, as nvcc's output calls
/// __cuda*.
extern "C" {
/// Enters a managed variable into its image, before main.
void simcudart_list_variable(simcuda::VariableEntry* entry);
/// Where the variable lives; starts CUDA if need be. nullptr after a failure (cudaGetLastError tells).
void* simcudart_managed_address(simcuda::VariableEntry* entry);
/// nullptr without a driver.
const simcuda::DeviceInterface* simcudart_device_interface(void);
}
