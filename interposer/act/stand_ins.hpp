/// What the program is told of memory that is not what it has asked for: rewritten memory passes for device
/// memory, and a card for as large as --pretend-memory says.
///
/// Managed pools that stand in for the program's own, so that stream-ordered memory can be rewritten: each of
/// its pools on a device has up to two twins, made when they are first needed (CUDA driver API, "Stream Ordered
/// Memory Allocator"; pools of managed memory came with CUDA 13.0). What the program asks of its pool holds for
/// the twins, too. Thread-safe.
#pragma once

#include "interposer/attach/entries.hpp"

#include <cstddef>
#include <cstdint>

namespace umadvisor::act {

enum class TwinPlace : std::uint8_t {
    on_device, ///< resident there from its allocation on; no other advice can be given on it
    anywhere,  ///< where it is touched
};

/// What is known of one of the program's pools.
struct PoolTwins {
    static constexpr std::size_t places = 2;
    CUmemoryPool original = nullptr; ///< null: nothing
    CUdevice device = -1;
    CUmemoryPool twins[places] = {}; ///< null: not made
};

/// The program has made a pool.
void note_pool_made(CUmemoryPool pool, const CUmemPoolProps& wanted) noexcept;
/// The program is about to destroy a pool: from now on its handle means another one. Once it is destroyed, so
/// are its twins; else they are given back.
PoolTwins take_pool_twins(CUmemoryPool pool) noexcept;
void destroy_twins(const PoolTwins& taken) noexcept;
void give_back_twins(const PoolTwins& taken) noexcept;
/// The pool went unseen: its handle has come back.
void forget_pool_twins(CUmemoryPool pool) noexcept;
/// The device is about to be reset.
void forget_device_twins(CUdevice device) noexcept;

/// `pool`, or where that is null the pool that `device` allocates from, if its memory can be rewritten: that is
/// the device's default pool, or one that the program has made there without a limit and without handles to
/// share it by. Null: it cannot, or the driver has no managed pools.
CUmemoryPool rewritable_pool(CUmemoryPool pool, CUdevice device) noexcept;

/// The twin of a pool that is rewritable; null: it has none after all.
CUmemoryPool twin_of(CUmemoryPool pool, CUdevice device, TwinPlace place) noexcept;

/// What the program knows the pool of an allocation by: `pool`, or that of which it is a twin.
CUmemoryPool original_of(CUmemoryPool pool) noexcept;

/// The program has set an attribute of its pool, asks for one (and was answered `value`), or has had it
/// trimmed.
void set_on_twins(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) noexcept;
void add_of_twins(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) noexcept;
void trim_twins(CUmemoryPool pool, std::size_t keep) noexcept;

/// Whether the program is to be told of `address` what it would be of device memory: it was rewritten, and who
/// asks does not move memory by itself.
bool passes_for_device_memory(std::uint64_t address) noexcept;

/// The driver has refused to share `address` with other processes. Where that is our doing, no more is
/// rewritten.
void sharing_was_refused(std::uint64_t address) noexcept;

/// What cuMemGetInfo and cuDeviceTotalMem answered, made to look like the pretended card. Free falls by
/// rewritten bytes as it would have by cuMemAlloc, to zero at the least: the driver counts those that have been
/// on the device. Either may be null.
void adjust_memory_info(std::size_t* free, std::size_t* total) noexcept;

} // namespace umadvisor::act
