#include "interposer/control/own_descriptor.hpp"

#include "interposer/record/high_descriptor.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace umadvisor::control {

bool OwnDescriptor::adopt(int descriptor) noexcept {
    if (descriptor < 0)
        return false;
    number_ = record::raise_descriptor(descriptor);
    struct stat file {};
    if (fstat(number_, &file) != 0) {
        ::close(number_);
        number_ = -1;
        return false;
    }
    device_ = file.st_dev;
    inode_ = file.st_ino;
    return true;
}

bool OwnDescriptor::is_ours() const noexcept {
    struct stat file {};
    return number_ >= 0 && fstat(number_, &file) == 0 && file.st_dev == device_ && file.st_ino == inode_;
}

void OwnDescriptor::close() noexcept {
    if (is_ours())
        ::close(number_);
    number_ = -1;
}

} // namespace umadvisor::control
