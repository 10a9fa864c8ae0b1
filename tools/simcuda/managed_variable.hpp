#pragma once

#include "tools/simcuda/device_pointer.hpp"
#include "tools/simcuda/image.hpp"
#include "tools/simcuda/runtime/device_code.hpp"

#include <cstddef>

namespace simcuda {

/// Storage of a __managed__ variable: entered into its image before main, placed by the driver at its first
/// use.
class ManagedStorage {
public:
    ManagedStorage(const char* name, std::size_t bytes, Image& image)
        : entry_{name, bytes, nullptr, nullptr, &image} {
        simcudart_list_variable(&entry_);
    }
    ManagedStorage(const ManagedStorage&) = delete;
    ManagedStorage& operator=(const ManagedStorage&) = delete;

    void* address() {
        if (!address_) {
            address_ = simcudart_managed_address(&entry_);
        }
        return address_;
    }

private:
    VariableEntry entry_;
    void* address_ = nullptr;
};

template <class T>
class ManagedVariable {
public:
    ManagedVariable(const char* name, Image& image) : storage_(name, sizeof(T), image) {}

    operator T&() { return value(); }
    T& operator=(const T& given) { return value() = given; }
    T& operator+=(const T& given) { return value() += given; }
    T& operator++() { return ++value(); }
    T* operator&() { return &value(); }
    DevicePtr<T> device_view() { return static_cast<T*>(storage_.address()); }

private:
    T& value() { return *static_cast<T*>(storage_.address()); }

    ManagedStorage storage_;
};

template <class T, std::size_t count>
class ManagedArray {
public:
    ManagedArray(const char* name, Image& image) : storage_(name, sizeof(T) * count, image) {}

    operator T*() { return data(); }
    T* data() { return static_cast<T*>(storage_.address()); }
    DevicePtr<T> device_view() { return data(); }

private:
    ManagedStorage storage_;
};

} // namespace simcuda
