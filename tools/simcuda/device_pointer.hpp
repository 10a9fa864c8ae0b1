#pragma once

#include "tools/simcuda/touch.hpp"

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace simcuda {

template <class T>
class DevicePointer;

/// An element of device memory: reading and writing it are different touches.
template <class T>
class DeviceReference {
public:
    explicit DeviceReference(std::uint64_t address) : address_(address) {}
    DeviceReference(const DeviceReference&) = default;

    operator T() const {
        T value;
        std::memcpy(&value, reach(address_, false), sizeof value);
        return value;
    }
    const DeviceReference& operator=(const T& value) const {
        std::memcpy(reach(address_, true), &value, sizeof value);
        return *this;
    }
    const DeviceReference& operator=(const DeviceReference& other) const {
        return *this = static_cast<T>(other);
    }
    const DeviceReference& operator+=(const T& value) const {
        return *this = static_cast<T>(static_cast<T>(*this) + value);
    }
    const DeviceReference& operator-=(const T& value) const {
        return *this = static_cast<T>(static_cast<T>(*this) - value);
    }
    const DeviceReference& operator*=(const T& value) const {
        return *this = static_cast<T>(static_cast<T>(*this) * value);
    }
    const DeviceReference& operator/=(const T& value) const {
        return *this = static_cast<T>(static_cast<T>(*this) / value);
    }
    const DeviceReference& operator%=(const T& value) const {
        return *this = static_cast<T>(static_cast<T>(*this) % value);
    }
    const DeviceReference& operator&=(const T& value) const {
        return *this = static_cast<T>(static_cast<T>(*this) & value);
    }
    const DeviceReference& operator|=(const T& value) const {
        return *this = static_cast<T>(static_cast<T>(*this) | value);
    }
    const DeviceReference& operator^=(const T& value) const {
        return *this = static_cast<T>(static_cast<T>(*this) ^ value);
    }
    const DeviceReference& operator<<=(const T& value) const {
        return *this = static_cast<T>(static_cast<T>(*this) << value);
    }
    const DeviceReference& operator>>=(const T& value) const {
        return *this = static_cast<T>(static_cast<T>(*this) >> value);
    }
    T operator++() const { return *this += 1; }
    T operator--() const { return *this -= 1; }
    T operator++(int) const {
        const T before = *this;
        *this += 1;
        return before;
    }
    T operator--(int) const {
        const T before = *this;
        *this -= 1;
        return before;
    }
    DevicePointer<T> operator&() const { return DevicePointer<T>(reinterpret_cast<T*>(address_)); }

private:
    std::uint64_t address_;
};

/// A pointer as a kernel sees it: the size and the bits of a plain pointer, so that it is found in a launch's
/// parameters; what it points at is reached through the driver's mapping, each touch reported.
template <class T>
class DevicePointer {
public:
    DevicePointer() = default;
    DevicePointer(std::nullptr_t) {}
    DevicePointer(T* pointer) : address_(reinterpret_cast<std::uint64_t>(pointer)) {}
    template <class U>
    requires std::is_convertible_v<U*, T*> DevicePointer(const DevicePointer<U>& other)
        : address_(reinterpret_cast<std::uint64_t>(other.get())) {}

    auto operator[](std::ptrdiff_t index) const {
        const std::uint64_t at = address_ + static_cast<std::uint64_t>(index) * sizeof(T);
        if constexpr (std::is_const_v<T>) {
            return static_cast<std::remove_const_t<T>>(DeviceReference<std::remove_const_t<T>>(at));
        } else {
            return DeviceReference<T>(at);
        }
    }
    auto operator*() const { return (*this)[0]; }

    T* get() const { return reinterpret_cast<T*>(address_); }
    explicit operator bool() const { return address_ != 0; }

    DevicePointer& operator+=(std::ptrdiff_t count) {
        address_ += static_cast<std::uint64_t>(count) * sizeof(T);
        return *this;
    }
    DevicePointer& operator-=(std::ptrdiff_t count) { return *this += -count; }
    DevicePointer& operator++() { return *this += 1; }
    friend DevicePointer operator+(DevicePointer pointer, std::ptrdiff_t count) { return pointer += count; }
    friend DevicePointer operator-(DevicePointer pointer, std::ptrdiff_t count) { return pointer -= count; }
    friend std::ptrdiff_t operator-(DevicePointer left, DevicePointer right) {
        return left.get() - right.get();
    }
    friend bool operator==(DevicePointer left, DevicePointer right) { return left.address_ == right.address_; }
    friend bool operator<(DevicePointer left, DevicePointer right) { return left.address_ < right.address_; }

private:
    std::uint64_t address_ = 0;
};

static_assert(sizeof(DevicePointer<int>) == sizeof(int*));

} // namespace simcuda

template <class T>
using DevicePtr = simcuda::DevicePointer<T>;

/// A kernel's threads run one after the other, so a plain read and write are atomic.
template <class T>
T atomicAdd(DevicePtr<T> pointer, std::type_identity_t<T> value) {
    const T before = pointer[0];
    pointer[0] = before + value;
    return before;
}
