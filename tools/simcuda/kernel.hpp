#pragma once

#include "tools/simcuda/device_pointer.hpp"
#include "tools/simcuda/image.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <typeinfo>
#include <utility>

// CUDA's names for a thread's place, in the global namespace as there.
inline constinit thread_local uint3 threadIdx{};
inline constinit thread_local uint3 blockIdx{};
inline constinit thread_local uint3 blockDim{};
inline constinit thread_local uint3 gridDim{};

namespace simcuda {

namespace {
/// Each translation unit is one image, as with nvcc.
[[maybe_unused]] Image translation_unit;
} // namespace

/// A parameter's type as the Itanium C++ ABI writes it, a DevicePointer as the pointer that it is with nvcc.
template <class T>
struct Mangled {
    static std::string text() { return typeid(T).name(); }
};
template <class T>
struct Mangled<DevicePointer<T>> {
    static std::string text() { return typeid(T*).name(); }
};

template <auto kernel>
class Kernel;

/// What the launch of a kernel function needs to know about its parameters.
template <class... Parameters, void (*kernel)(Parameters...)>
class Kernel<kernel> {
public:
    using Arguments = std::tuple<std::remove_cv_t<Parameters>...>;
    static constexpr std::size_t count = sizeof...(Parameters);

    /// `name` must live as long as the program.
    static KernelEntry make_entry(const char* name, Image& image) {
        return {name, count, offsets.data(), sizes.data(), run, nullptr, &image};
    }

    /// Mangled, as nvcc names kernels; names of templates and in namespaces stay as they are. It lives as long
    /// as the program.
    static const char* symbol_of(std::string_view name) {
        if (name.find_first_of(":<") != name.npos)
            return name.data();
        const std::string parameters = (Mangled<Parameters>::text() + ... + std::string());
        static const std::string& symbol = *new std::string(
            "_Z" + std::to_string(name.size()) + std::string(name) + (count == 0 ? "v" : parameters));
        return symbol.c_str();
    }

    static void run(void** arguments, const Shape& shape) {
        run(arguments, shape, std::index_sequence_for<Parameters...>());
    }

private:
    // One more than there are, so that a kernel without parameters has arrays too.
    using Numbers = std::array<std::size_t, count + 1>;

    static constexpr Numbers sizes{sizeof(Parameters)..., 0};
    static constexpr Numbers offsets = [] {
        constexpr Numbers alignments{alignof(Parameters)..., 1};
        Numbers result{};
        std::size_t at = 0;
        for (std::size_t index = 0; index < count; ++index) {
            at = (at + alignments[index] - 1) / alignments[index] * alignments[index];
            result[index] = at;
            at += sizes[index];
        }
        return result;
    }();

    template <std::size_t... index>
    static void run([[maybe_unused]] void** arguments, const Shape& shape, std::index_sequence<index...>) {
        gridDim = {shape.grid[0], shape.grid[1], shape.grid[2]};
        blockDim = {shape.block[0], shape.block[1], shape.block[2]};
        const auto visit = [](const unsigned(&size)[3], uint3& place, auto body) {
            for (place.z = 0; place.z < size[2]; ++place.z) {
                for (place.y = 0; place.y < size[1]; ++place.y) {
                    for (place.x = 0; place.x < size[0]; ++place.x) {
                        body();
                    }
                }
            }
        };
        visit(shape.grid, blockIdx, [&] {
            visit(shape.block, threadIdx,
                  [&] { kernel(*static_cast<std::tuple_element_t<index, Arguments>*>(arguments[index])...); });
        });
    }
};

/// kernel<<<grid, block, 0, stream>>>(given...): errors are left for cudaGetLastError.
template <auto kernel, class... Given>
void launch(const char* name, Image& image, dim3 grid, dim3 block, cudaStream_t stream, Given&&... given) {
    static KernelEntry entry = Kernel<kernel>::make_entry(Kernel<kernel>::symbol_of(name), image);
    typename Kernel<kernel>::Arguments arguments(std::forward<Given>(given)...);
    std::apply(
        [&](auto&... argument) {
            void* pointers[] = {static_cast<void*>(&argument)..., nullptr};
            cudaLaunchKernel(&entry, grid, block, pointers, 0, stream);
        },
        arguments);
}

} // namespace simcuda
