#include "interposer/observe/tools_device.hpp"

#include "interposer/attach/driver.hpp"
#include "interposer/record/high_descriptor.hpp"
#include "residency/tools_interface.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace umadvisor::observe {

namespace tools = residency::tools;

namespace {

constexpr const char* device_file = "/dev/nvidia-uvm-tools";
constexpr int most_descriptors = 4096; ///< looked through for the module's

} // namespace

ToolsTracker::Descriptor ToolsTracker::describe(int number) noexcept {
    struct stat is;
    if (number < 0 || fstat(number, &is) != 0 || !S_ISCHR(is.st_mode))
        return {};
    return {number, is.st_rdev, is.st_ino};
}

bool ToolsTracker::same(const Descriptor& descriptor) noexcept {
    const Descriptor now = describe(descriptor.number);
    return now.number >= 0 && now.device == descriptor.device && now.inode == descriptor.inode;
}

bool ToolsTracker::command(const Descriptor& to, unsigned long number, void* parameters) noexcept {
    if (const auto simulated = attach::simulated_tools())
        return simulated(to.number, number, parameters) == 0;
    return same(to) && ioctl(to.number, number, parameters) == 0;
}

const char* ToolsTracker::open(void* ring, std::uint64_t entries, void* control) noexcept {
    constexpr const char* refusal = "the driver refuses its tools queue";
    tools::InitTracker init{};
    init.ring = reinterpret_cast<std::uint64_t>(ring);
    init.entries = entries;
    init.control = reinterpret_cast<std::uint64_t>(control);
    init.all_processors = 1;
    ring_ = entries != 0;
    if (const auto simulated = attach::simulated_tools()) {
        tracker_.number = module_.number = simulated(-1, tools::InitTracker::command, &init);
        return tracker_.number >= 0 && init.status == 0 ? nullptr : refusal;
    }
    const int descriptor = ::open(device_file, O_RDWR | O_CLOEXEC);
    if (descriptor < 0)
        return errno == ENOENT ? "/dev/nvidia-uvm-tools is not there"
                               : "/dev/nvidia-uvm-tools may not be opened";
    tracker_ = describe(record::raise_descriptor(descriptor));
    // The program's descriptors of the module: one of them has its memory, and only that one is accepted.
    for (int each = 0; each < most_descriptors && tracker_.number >= 0; ++each) {
        const Descriptor other = describe(each);
        if (other.number < 0 || major(other.device) != major(tracker_.device) ||
            other.device == tracker_.device)
            continue;
        init.uvm_descriptor = static_cast<std::uint32_t>(each);
        if (command(tracker_, tools::InitTracker::command, &init) && init.status == 0) {
            module_ = other;
            return nullptr;
        }
    }
    close();
    return refusal;
}

bool ToolsTracker::turn(unsigned long number, std::uint64_t flags) noexcept {
    tools::Switch parameters{flags, 0, 0};
    return command(tracker_, number, &parameters) && parameters.status == 0;
}

bool ToolsTracker::enable(std::uint64_t flags) noexcept {
    return turn(ring_ ? tools::Switch::enable_events : tools::Switch::enable_counters, flags);
}

bool ToolsTracker::disable(std::uint64_t flags) noexcept {
    return turn(ring_ ? tools::Switch::disable_events : tools::Switch::disable_counters, flags);
}

bool ToolsTracker::alive() const noexcept {
    return attach::simulated_tools() != nullptr || same(tracker_);
}

void ToolsTracker::close() noexcept {
    if (const auto simulated = attach::simulated_tools())
        simulated(tracker_.number, 0, nullptr);
    else if (same(tracker_))
        ::close(tracker_.number);
    tracker_ = module_ = {};
}

void ToolsTracker::flush() const noexcept {
    tools::Flush parameters{};
    command(module_, tools::Flush::command, &parameters);
}

std::uint32_t ToolsTracker::processor(const void* uuid) const noexcept {
    constexpr std::size_t uuid_bytes = 16;
    static std::uint8_t table[tools::ProcessorTable::processors][uuid_bytes]; // too large for any stack
    tools::ProcessorTable parameters{reinterpret_cast<std::uint64_t>(table), 0, 0};
    if (!command(module_, tools::ProcessorTable::command, &parameters) || parameters.status != 0)
        return 0;
    for (std::uint32_t number = 1; number < tools::ProcessorTable::processors; ++number)
        if (std::memcmp(table[number], uuid, uuid_bytes) == 0)
            return number;
    return 0;
}

} // namespace umadvisor::observe
