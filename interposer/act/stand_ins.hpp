/// Answers to the program about memory that is not what it asked for: rewritten memory looks like device
/// memory, and a card looks as large as --pretend-memory says.
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

/// The preferred location of a twin's memory.
enum class TwinLocation : std::uint8_t {
    on_device,     ///< resident there from its allocation on; the driver accepts no other advice on it
    where_touched, ///< no preferred location
};

/// One of the program's pools with its twins, one for each TwinLocation.
struct PoolTwins {
    static constexpr std::size_t locations = 2;
    CUmemoryPool original = nullptr; ///< null: the entry is free
    CUdevice device = -1;
    CUmemoryPool twins[locations] = {}; ///< null: not made
};

/// The program has made a pool.
void note_pool_made(CUmemoryPool pool, const CUmemPoolProps& properties) noexcept;
/// The program is about to destroy a pool, after which another pool may get its handle: its twins are removed
/// here, then destroyed if the pool was, else entered again.
PoolTwins remove_twins(CUmemoryPool pool) noexcept;
void destroy_twins(const PoolTwins& removed) noexcept;
void restore_twins(const PoolTwins& removed) noexcept;
/// The pool was destroyed unseen: a new pool has its handle.
void forget_pool_twins(CUmemoryPool pool) noexcept;
/// The device is about to be reset.
void forget_device_twins(CUdevice device) noexcept;

/// `pool`, or where that is null the pool that `device` allocates from, if its memory can be rewritten: that is
/// the device's default pool, or one that the program has made there without a limit and without handles to
/// share it by. Null: it cannot, or the driver has no managed pools.
CUmemoryPool rewritable_pool(CUmemoryPool pool, CUdevice device) noexcept;

/// The twin of a rewritable pool, made if needed; null if the driver cannot make it.
CUmemoryPool twin_of(CUmemoryPool pool, CUdevice device, TwinLocation location) noexcept;

/// The handle by which the program knows the pool of an allocation: `pool`, or the pool whose twin it is.
CUmemoryPool original_of(CUmemoryPool pool) noexcept;

/// The program has set an attribute of its pool, asks for one (and was answered `value`), or has had it
/// trimmed.
void set_on_twins(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) noexcept;
void add_of_twins(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) noexcept;
void trim_twins(CUmemoryPool pool, std::size_t keep) noexcept;

/// Whether `address` is rewritten memory that the caller shall take for device memory. Transport libraries,
/// which move memory themselves, get the truth.
bool passes_for_device_memory(std::uint64_t address) noexcept;

/// The driver has refused to share `address` with other processes. If the memory was rewritten, rewriting is
/// switched off.
void sharing_was_refused(std::uint64_t address) noexcept;

/// Adds what actions keep on the current context's device to the free memory that cuMemGetInfo answers.
void add_kept_memory(std::size_t* free) noexcept;

/// Changes the answers of cuMemGetInfo and cuDeviceTotalMem to those of the pretended card. Free memory falls
/// by rewritten bytes as it would by cuMemAlloc, down to zero: of managed memory the driver counts only what
/// has been on the device. Either may be null.
void adjust_memory_info(std::size_t* free, std::size_t* total) noexcept;

} // namespace umadvisor::act
