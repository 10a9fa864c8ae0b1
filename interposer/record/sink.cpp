#include "interposer/record/sink.hpp"

#include "interposer/record/clock.hpp"
#include "interposer/record/high_descriptor.hpp"
#include "interposer/record/summary.hpp"
#include "interposer/runtime/message.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace umadvisor::record {

constinit Sink sink;

namespace {

constexpr std::uint32_t first_batch = 16; ///< chunks; a small program gets a small file
constexpr std::uint32_t later_batch = 64;
/// As many chunks as can be numbered.
constexpr std::uint64_t max_file_bytes = trace::header_bytes + (std::uint64_t{trace::chunk_bytes} << 32) - 1;

constinit char failure[512] = {}; ///< create() is called by the one thread that enters

const char* fail(const char* path, const char* what) noexcept {
    std::snprintf(failure, sizeof failure, "cannot create %s: %s", path, what);
    return failure;
}

const char* describe(int error) noexcept {
    const char* text = strerrordesc_np(error); // strerror(3) may allocate and reads the locale
    return text != nullptr ? text : "unknown error";
}

/// Removes what `force` lets us remove. nullptr or why not.
const char* make_way(const char* path) noexcept {
    struct stat file {};
    if (lstat(path, &file) != 0)
        return nullptr;
    if (S_ISLNK(file.st_mode))
        return fail(path, "it is a symbolic link, and links are not followed");
    if (!S_ISREG(file.st_mode))
        return fail(path, "it exists and is no regular file");
    if (file.st_uid != geteuid())
        return fail(path, "it exists and belongs to another user");
    return unlink(path) == 0 ? nullptr : fail(path, describe(errno));
}

/// A shared mapping of [offset, offset + bytes) of the file; the offset need not be a multiple of the page
/// size, which is 64 KiB on some machines.
std::uint8_t* map_file(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept {
    const std::uint64_t page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const std::uint64_t lead = offset % page;
    void* at =
        mmap(nullptr, bytes + lead, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset - lead));
    return at == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(at) + lead;
}

std::uint64_t chunk_offset(std::uint32_t index) noexcept {
    return trace::header_bytes + std::uint64_t{index} * trace::chunk_bytes;
}

} // namespace

const char* Sink::create(const Settings& settings) noexcept {
    if (settings.force)
        if (const char* why = make_way(settings.path))
            return why;
    const int fd = ::open(settings.path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(settings.path, errno == EEXIST ? "it exists already" : describe(errno));
    fd_ = raise_descriptor(fd);

    // Three chunks are the least that can hold anything: the summary, one of events, one of definitions.
    const std::uint64_t most = settings.max_bytes != 0 ? settings.max_bytes : max_file_bytes;
    room_ = std::clamp<std::uint64_t>(most, trace::header_bytes + 3 * trace::chunk_bytes, max_file_bytes) -
            trace::header_bytes;

    const char* why = map_header();
    if (why == nullptr && !grow())
        why = "no space for the first records";
    if (why != nullptr) {
        unlink(settings.path);
        ::close(fd_);
        fd_ = -1;
        return fail(settings.path, why);
    }
    // Held from the start: what a full disk or the cap drops has its counts all the same.
    std::uint32_t index = 0;
    summary.place(claim(trace::ChunkKind::summary, index));
    return nullptr;
}

/// What the cap allows. It is of what the file takes on the disk: the tails that threads gave back can be had
/// again.
std::uint32_t Sink::max_chunks() const noexcept {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>((room_ + released_) / trace::chunk_bytes, ~std::uint32_t{0}));
}

const char* Sink::map_header() noexcept {
    struct stat file {};
    if (fstat(fd_, &file) != 0)
        return describe(errno);
    device_ = file.st_dev;
    inode_ = file.st_ino;
    char link[64];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd_);
    const ssize_t length = readlink(link, path_, sizeof path_ - 1);
    path_[length > 0 ? length : 0] = '\0';

    if (const int error = reserve(0, trace::header_bytes))
        return describe(error);
    std::uint8_t* at = map_file(fd_, 0, trace::header_bytes);
    if (at == nullptr)
        return describe(errno);
    header_ = reinterpret_cast<trace::FileHeader*>(at);
    header_->major = trace::version_major;
    header_->minor = trace::version_minor;
    header_->endian = trace::endian_mark;
    header_->header_bytes = trace::header_bytes;
    header_->chunk_size = trace::chunk_bytes;
    header_->counters_offset = trace::counters_offset;
    header_->counters = trace::counter_slots;
    header_->pid = static_cast<std::uint32_t>(getpid());
    header_->clock = clock_kind();
    header_->first = read_clock_pair();
    header_->realtime_ns = realtime_nanoseconds();
    header_->last_ticks.store(header_->first.ticks, std::memory_order_relaxed);
    header_->last_monotonic_ns.store(header_->first.monotonic_ns, std::memory_order_relaxed);
    using Word [[gnu::may_alias]] = std::uint64_t;
    __atomic_store_n(reinterpret_cast<Word*>(&header_->magic), std::bit_cast<std::uint64_t>(trace::file_magic),
                     __ATOMIC_RELEASE); // a file with the magic has the rest
    return nullptr;
}

std::uint64_t* Sink::counters() const noexcept {
    return reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::uint8_t*>(header_) + trace::counters_offset);
}

/// Reserves blocks, so that a full disk shows here and not as SIGBUS at a store. Returns an errno value.
int Sink::reserve(std::uint64_t offset, std::uint64_t bytes) noexcept {
    // Beyond RLIMIT_FSIZE the kernel sends SIGXFSZ, whose default is death (setrlimit(2)): so ask first.
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        offset + bytes > limit.rlim_cur)
        return EFBIG;
    int error = 0;
    do
        error = posix_fallocate(fd_, static_cast<off_t>(offset), static_cast<off_t>(bytes));
    while (error == EINTR);
    return error;
}

/// Whether fd_ is still our file: programs close descriptors that are not theirs (daemon(3), closefrom(3)) and
/// the number may belong to another file now. Then the file is opened anew by its path.
bool Sink::own_descriptor() noexcept {
    struct stat file {};
    if (fd_ >= 0 && fstat(fd_, &file) == 0 && file.st_dev == device_ && file.st_ino == inode_)
        return true;
    fd_ = path_[0] == '/' ? ::open(path_, O_RDWR | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (fd_ < 0)
        return false;
    if (fstat(fd_, &file) == 0 && file.st_dev == device_ && file.st_ino == inode_)
        return true;
    ::close(fd_);
    fd_ = -1;
    return false;
}

bool Sink::has_file() noexcept {
    const Guard guard(mutex_);
    struct stat file {};
    if (own_descriptor())
        return fstat(fd_, &file) == 0 && file.st_nlink != 0;
    return lstat(path_, &file) == 0 && file.st_dev == device_ && file.st_ino == inode_;
}

/// Ends the growth of the file. Said once; the reason given first stays.
void Sink::fill(trace::DropReason reason, const char* why) noexcept {
    if (full_.load(std::memory_order_relaxed) != trace::DropReason::count_)
        return;
    full_.store(reason, std::memory_order_relaxed);
    runtime::say("trace %s is full (%s); what follows is counted, not kept", path_, why);
}

/// Makes memory for more chunks. With the lock held, or alone.
bool Sink::grow() noexcept {
    const trace::DropReason full = full_.load(std::memory_order_relaxed);
    if (full != trace::DropReason::count_ && full != trace::DropReason::size_cap)
        return false;
    if (mapped_ >= max_chunks()) {
        fill(trace::DropReason::size_cap, "size cap reached");
        return false;
    }
    if (!own_descriptor()) {
        fill(trace::DropReason::no_memory, "the program closed its descriptor and the file is gone");
        return false;
    }
    std::uint32_t chunks = std::min(mapped_ == 0 ? first_batch : later_batch, max_chunks() - mapped_);
    int error = 0;
    for (; chunks > 0; chunks /= 4) { // the last blocks of a disk are worth having
        error = reserve(chunk_offset(mapped_), std::uint64_t{chunks} * trace::chunk_bytes);
        if (error == 0)
            break;
    }
    if (error != 0) {
        fill(trace::DropReason::disk_full, describe(error));
        return false;
    }
    std::uint8_t* at = map_file(fd_, chunk_offset(mapped_), std::uint64_t{chunks} * trace::chunk_bytes);
    if (at == nullptr) {
        fill(trace::DropReason::no_memory, describe(errno));
        return false;
    }
    batch_ = at;
    batch_first_ = mapped_;
    mapped_ += chunks;
    return true;
}

std::uint8_t* Sink::claim(trace::ChunkKind kind, std::uint32_t& index) noexcept {
    const Guard guard(mutex_);
    // The last chunk under the cap is kept for definitions: events that nobody can name are worth nothing.
    if (kind == trace::ChunkKind::event) {
        if (next_ + 1 >= max_chunks())
            fill(trace::DropReason::size_cap, "size cap reached");
        if (full_.load(std::memory_order_relaxed) != trace::DropReason::count_)
            return nullptr;
    }
    if (next_ == mapped_ && !grow())
        return nullptr;
    index = next_++;
    header_->chunks.store(next_, std::memory_order_release);
    return batch_ + std::size_t{index - batch_first_} * trace::chunk_bytes;
}

void Sink::release_tail(std::uint32_t index, std::uint32_t used) noexcept {
    const std::uint64_t page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const std::uint64_t end = chunk_offset(index) + trace::chunk_bytes;
    const std::uint64_t from = (chunk_offset(index) + used + page - 1) / page * page;
    const Guard guard(mutex_);
    if (from < end && own_descriptor() &&
        fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from),
                  static_cast<off_t>(end - from)) == 0) // not every file system can: then the blocks stay
        released_ += end - from;
}

void Sink::drop(trace::DropReason reason) noexcept {
    if (reason == trace::DropReason::count_)
        reason = trace::DropReason::no_memory;
    header_->dropped[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
}

} // namespace umadvisor::record
