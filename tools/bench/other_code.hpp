/// Code that pushes other code out of the caches, as a real driver does between two of its callers' turns.
#pragma once

#include "tools/bench/doors.hpp"

#include <cstddef>
#include <cstdint>
#include <sys/mman.h>

namespace bench {

/// A jump in each line of the cache, to the next one: run() takes a line of the instruction cache and an entry
/// of the branch predictor for each 64 bytes. On a driver's own path both hold what the driver needs, so a
/// simulated driver, whose path is a hundred times shorter, tells what recording costs beside a real one only
/// after this.
class OtherCode {
public:
    explicit OtherCode(std::size_t bytes) : lines_(bytes / line) {
        if (lines_ == 0)
            return;
        void* const pages =
            mmap(nullptr, lines_ * line, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED)
            give_up("mmap");
        code_ = static_cast<std::uint8_t*>(pages);
        for (std::size_t i = 0; i + 1 < lines_; ++i)
            put(i, jump, sizeof jump);
        put(lines_ - 1, way_back, sizeof way_back);
        if (mprotect(code_, lines_ * line, PROT_READ | PROT_EXEC) != 0)
            give_up("mprotect");
        __builtin___clear_cache(reinterpret_cast<char*>(code_), reinterpret_cast<char*>(code_ + lines_ * line));
    }
    ~OtherCode() {
        if (code_ != nullptr)
            munmap(code_, lines_ * line);
    }
    OtherCode(const OtherCode&) = delete;
    OtherCode& operator=(const OtherCode&) = delete;

    void run() const {
        if (code_ != nullptr)
            reinterpret_cast<void (*)()>(code_)();
    }

private:
    static constexpr std::size_t line = 64;
#if defined(__x86_64__)
    static constexpr std::uint8_t jump[] = {0xeb, line - 2}; // jmp to the next line
    static constexpr std::uint8_t way_back[] = {0xc3};       // ret
#elif defined(__aarch64__)
    static constexpr std::uint8_t jump[] = {line / 4, 0x00, 0x00, 0x14}; // b to the next line
    static constexpr std::uint8_t way_back[] = {0xc0, 0x03, 0x5f, 0xd6}; // ret
#endif
    void put(std::size_t at, const std::uint8_t* instruction, std::size_t bytes) {
        std::memcpy(code_ + at * line, instruction, bytes);
    }

    std::size_t lines_;
    std::uint8_t* code_ = nullptr;
};

} // namespace bench
