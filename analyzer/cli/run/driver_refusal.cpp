#include "analyzer/cli/run/driver_probe.hpp"

#include <algorithm>
#include <string_view>

namespace umadvisor::cli {
namespace {

/// What cuInit answers on machines that are not set up, by the numbers of cuda.h, and what ends it.
struct Remedy {
    int status;
    std::string_view name; ///< older drivers have none for newer errors
    std::string_view text;
};
constexpr Remedy remedies[] = {
    {3, "CUDA_ERROR_NOT_INITIALIZED", "the process is ending, or the driver could not start; try nvidia-smi"},
    {34, "CUDA_ERROR_STUB_LIBRARY",
     "this libcuda.so.1 is the toolkit's stub for linking; take its folder (lib64/stubs) out of "
     "LD_LIBRARY_PATH"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE",
     "another process holds the device in exclusive mode, or it waits for a reset; nvidia-smi shows which"},
    {100, "CUDA_ERROR_NO_DEVICE",
     "is CUDA_VISIBLE_DEVICES set to hide the devices? Does nvidia-smi list any? A container needs "
     "--gpus all"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "CUDA_VISIBLE_DEVICES names a device that is not there"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM",
     "a call of the operating system failed: check that this user may open /dev/nvidia*"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY",
     "the machine's NVLink switches are not set up yet: start nvidia-fabricmanager (systemctl start "
     "nvidia-fabricmanager)"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "libcuda.so.1 and the kernel module are of different releases: load the new module or reboot, or take "
     "a compat folder out of LD_LIBRARY_PATH"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
     "the compatibility libcuda.so.1 does not serve this device: take the toolkit's compat folder out of "
     "LD_LIBRARY_PATH, or install a newer driver"},
    {805, "CUDA_ERROR_MPS_CONNECTION_FAILED",
     "the MPS daemon does not answer: start it (nvidia-cuda-mps-control -d) or unset "
     "CUDA_MPS_PIPE_DIRECTORY"},
    {999, "CUDA_ERROR_UNKNOWN",
     "most often nvidia_uvm is not loaded or /dev/nvidia-uvm is not there: nvidia-modprobe -u -c 0; after "
     "a suspend, load nvidia_uvm again"},
};

} // namespace

std::string refusal_text(int status, const std::string& name, const std::string& words) {
    const auto* const remedy = std::ranges::find(remedies, status, &Remedy::status);
    const bool known = remedy != std::end(remedies);
    std::string text = !name.empty() ? name
                       : known       ? std::string(remedy->name)
                                     : "CUresult " + std::to_string(status);
    if (!words.empty())
        text += " (" + words + ")";
    return text + ": " +
           (known ? std::string(remedy->text)
                  : "check whether nvidia-smi works, and what dmesg says about NVRM");
}

} // namespace umadvisor::cli
