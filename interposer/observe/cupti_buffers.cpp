#include "interposer/observe/cupti_buffers.hpp"

#include "interposer/base/pages.hpp"

namespace umadvisor::observe {

bool CuptiBuffers::reserve() noexcept {
    const record::Guard guard(mutex_);
    if (memory_ == nullptr)
        memory_ = static_cast<std::uint8_t*>(base::map_pages(most * buffer_bytes));
    return memory_ != nullptr;
}

/// Returns `most` for a buffer that is not ours.
std::size_t CuptiBuffers::number_of(const std::uint8_t* buffer) const noexcept {
    const auto offset = static_cast<std::size_t>(buffer - memory_);
    return offset < most * buffer_bytes && offset % buffer_bytes == 0 ? offset / buffer_bytes : most;
}

std::uint8_t* CuptiBuffers::take() noexcept {
    const record::Guard guard(mutex_);
    for (std::size_t i = 0; memory_ != nullptr && i < most; ++i)
        if (!used_[i]) {
            used_[i] = true;
            return memory_ + i * buffer_bytes;
        }
    return nullptr;
}

void CuptiBuffers::complete(std::uint8_t* buffer, std::size_t valid_bytes) noexcept {
    const record::Guard guard(mutex_);
    if (number_of(buffer) == most || count_ == most)
        return;
    complete_[(first_ + count_) % most] = {buffer, valid_bytes < buffer_bytes ? valid_bytes : buffer_bytes};
    ++count_;
}

CuptiBuffers::Complete CuptiBuffers::next() noexcept {
    const record::Guard guard(mutex_);
    if (count_ == 0)
        return {};
    const Complete oldest = complete_[first_];
    first_ = (first_ + 1) % most;
    --count_;
    return oldest;
}

void CuptiBuffers::give_back(std::uint8_t* buffer) noexcept {
    const record::Guard guard(mutex_);
    if (const std::size_t number = number_of(buffer); number != most)
        used_[number] = false;
}

} // namespace umadvisor::observe
