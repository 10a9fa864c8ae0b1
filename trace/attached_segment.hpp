/// The segment that a trace file names, attached for reading. Of the readers, and of a writer that replaces a
/// trace.
#pragma once

#include "trace/segment.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

namespace umadvisor::trace {

/// What the header of an open file says; `bytes` zero: it names none.
inline SegmentName segment_name_in(int file) noexcept {
    char head[segment_name_offset + sizeof(SegmentName)] = {};
    SegmentName name{};
    if (::pread(file, head, sizeof head, 0) == static_cast<ssize_t>(sizeof head) &&
        std::memcmp(head, file_magic.data(), file_magic.size()) == 0)
        std::memcpy(&name, head + segment_name_offset, sizeof name);
    return name;
}

/// Any file may name any segment, so none is believed: file and segment must be this user's, the segment must
/// have the mode and the size of one, and name the file in its turn.
class AttachedSegment {
public:
    AttachedSegment(const SegmentName& name, const struct stat& file) noexcept : id_(name.id) {
        shmid_ds state{};
        if (file.st_uid != ::geteuid() || ::shmctl(id_, IPC_STAT, &state) != 0 || !is_ours(state, name))
            return;
        void* const at = ::shmat(id_, nullptr, SHM_RDONLY);
        if (at == reinterpret_cast<void*>(-1))
            return;
        base_ = static_cast<std::uint8_t*>(at);
        writer_is_gone_ = state.shm_nattch == 0 || is_dead(state.shm_cpid);
        if (names(file, name))
            return;
        ::shmdt(base_);
        base_ = nullptr;
    }
    ~AttachedSegment() {
        if (base_ != nullptr)
            ::shmdt(base_);
    }
    AttachedSegment(const AttachedSegment&) = delete;
    AttachedSegment& operator=(const AttachedSegment&) = delete;

    /// Whether there is one that is this file's; the rest may only be asked then.
    explicit operator bool() const noexcept { return base_ != nullptr; }
    /// No process will write to it any more: no process had it attached (after exec(2), too), or the one that
    /// made it is dead. A dead one may look attached, while something looks at its memory (/proc) or a child
    /// made without the handlers of fork(2) lives; neither writes records.
    bool writer_is_gone() const noexcept { return writer_is_gone_; }
    void remove() const noexcept { ::shmctl(id_, IPC_RMID, nullptr); }

    Segment& head() const noexcept { return *reinterpret_cast<Segment*>(base_); }
    const std::uint8_t* header_image() const noexcept { return base_ + header_image_offset; }
    SlotOwner& owner_of(std::uint32_t slot) const noexcept {
        return reinterpret_cast<SlotOwner*>(base_ + slot_owners_offset)[slot];
    }
    ChunkHeader& chunk_in(std::uint32_t slot) const noexcept {
        return *reinterpret_cast<ChunkHeader*>(base_ + slots_offset + std::size_t{slot} * chunk_bytes);
    }

private:
    /// Call it before anything of the segment is read.
    static bool is_ours(const shmid_ds& state, const SegmentName& name) noexcept {
        return state.shm_perm.uid == ::geteuid() && state.shm_perm.cuid == ::geteuid() &&
               (state.shm_perm.mode & 0777) == 0600 && state.shm_segsz == name.bytes &&
               name.bytes > slots_offset && name.bytes <= segment_bytes(most_slots) &&
               (name.bytes - slots_offset) % chunk_bytes == 0;
    }
    /// 0: a process that cannot be seen from here, as of another namespace.
    static bool is_dead(pid_t process) noexcept {
        return process > 0 && ::kill(process, 0) != 0 && errno == ESRCH;
    }
    bool names(const struct stat& file, const SegmentName& name) const noexcept {
        const Segment& said = head();
        return said.magic == segment_magic && said.cookie == name.cookie && said.device == file.st_dev &&
               said.inode == file.st_ino && segment_bytes(said.slots) == name.bytes;
    }

    int id_;
    std::uint8_t* base_ = nullptr; ///< mapped for reading; its atomics are only loaded
    bool writer_is_gone_ = false;
};

} // namespace umadvisor::trace
