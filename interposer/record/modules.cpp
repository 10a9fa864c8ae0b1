#include "interposer/record/modules.hpp"

#include "interposer/base/text.hpp"
#include "interposer/record/lock_check.hpp"
#include "interposer/record/recorder.hpp"
#include "trace/checksum.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <elf.h>
#include <unistd.h>

namespace umadvisor::record {

constinit ModuleMap module_map;

namespace {

std::uint64_t hash(std::string_view bytes) noexcept {
    return trace::checksum(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

/// The NT_GNU_BUILD_ID note among the object's mapped notes; raw bytes.
std::string_view build_id(const dl_phdr_info& object) noexcept {
    for (unsigned i = 0; i < object.dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = object.dlpi_phdr[i];
        if (segment.p_type != PT_NOTE)
            continue;
        // Notes of 8-byte alignment (properties) stand in a segment of their own, with padding to match.
        const std::size_t align = segment.p_align == 8 ? 8 : 4;
        const auto padded = [align](std::size_t bytes) { return (bytes + align - 1) & ~(align - 1); };
        const char* at = reinterpret_cast<const char*>(object.dlpi_addr + segment.p_vaddr);
        std::size_t left = segment.p_memsz;
        while (left >= sizeof(ElfW(Nhdr))) {
            ElfW(Nhdr) note;
            std::memcpy(&note, at, sizeof note);
            const std::size_t body = padded(sizeof note + note.n_namesz);
            const std::size_t whole = body + padded(note.n_descsz);
            if (whole > left)
                break;
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
                std::memcmp(at + sizeof note, "GNU", 4) == 0)
                return {at + body, note.n_descsz};
            at += whole;
            left -= whole;
        }
    }
    return {};
}

/// The absolute path of the object's file, if it has one: the main program is listed without a name, and a
/// relative path would be useless where the trace is read.
std::string_view absolute_path(const char* name, bool program, char (&buffer)[PATH_MAX]) noexcept {
    if (program || name == nullptr || name[0] == '\0') {
        const ssize_t length = program ? readlink("/proc/self/exe", buffer, sizeof buffer) : 0;
        return {buffer, length > 0 ? static_cast<std::size_t>(length) : 0};
    }
    if (name[0] == '/' || std::strchr(name, '/') == nullptr || getcwd(buffer, sizeof buffer) == nullptr)
        return name; // without a slash: the kernel's linux-vdso.so.1
    const std::size_t directory = std::strlen(buffer), file = std::strlen(name);
    if (directory + 1 + file >= sizeof buffer)
        return name;
    buffer[directory] = '/';
    std::memcpy(buffer + directory + 1, name, file);
    return {buffer, directory + 1 + file};
}

} // namespace

/// Whether anything has changed since the last look.
bool ModuleMap::begin(const dl_phdr_info& any) noexcept {
    if (modules_ == nullptr)
        modules_ = static_cast<LoadedModule*>(base::map_pages(capacity * sizeof(LoadedModule)));
    if (modules_ == nullptr || (any.dlpi_adds == adds_ && any.dlpi_subs == subs_)) // the same in every entry
        return false;
    adds_ = any.dlpi_adds;
    subs_ = any.dlpi_subs;
    for (std::size_t i = 0; i < count_; ++i)
        modules_[i].present = false;
    return true;
}

bool ModuleMap::refresh(GoneCall gone) noexcept {
    struct Walk {
        ModuleMap& map;
        bool changed = false; ///< and `map` locked
        std::size_t known = 0;
        std::uint64_t since = 0;
    } walk{*this};
    assert_no_lock("dl_iterate_phdr");
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* to) {
            auto& [map, changed, known, since] = *static_cast<Walk*>(to);
            if (!changed) {
                map.mutex_.lock();
                changed = map.begin(*object);
                if (!changed) {
                    map.mutex_.unlock();
                    return 1;
                }
                known = map.count_;
                since = now();
            }
            map.see(*object);
            return 0;
        },
        &walk);
    if (!walk.changed)
        return false;
    for (std::size_t i = 0; i < walk.known; ++i) {
        LoadedModule& module = modules_[i];
        if (module.present || module.first == module.last)
            continue;
        gone(module.first, module.last);
        module.last = module.first; // its slot is free, its id is never used again
    }
    mutex_.unlock();
    charge(now() - walk.since);
    return true;
}

void ModuleMap::see(const dl_phdr_info& object) noexcept {
    LoadedModule module{};
    module.bias = object.dlpi_addr;
    module.first = UINTPTR_MAX;
    for (unsigned i = 0; i < object.dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = object.dlpi_phdr[i];
        if (segment.p_type != PT_LOAD)
            continue;
        module.first = std::min(module.first, module.bias + segment.p_vaddr);
        module.last = std::max(module.last, module.bias + segment.p_vaddr + segment.p_memsz);
    }
    if (module.last == 0)
        return;
    static char buffer[PATH_MAX]; // the lock is held
    const std::string_view path = absolute_path(object.dlpi_name, count_ == 0, buffer);
    const std::string_view build = build_id(object);
    // By the name as listed: a relative one is still the same object after the program has changed its
    // directory.
    module.identity = hash(object.dlpi_name) ^ (hash(build) << 1);
    module.present = true;
    // A free slot, that of an unloaded object of the same file if there is one, whose path is used again.
    LoadedModule* slot = nullptr;
    for (std::size_t i = 0; i < count_; ++i) {
        LoadedModule& old = modules_[i];
        if (old.first == module.first && old.last == module.last && old.bias == module.bias &&
            old.identity == module.identity) {
            old.present = true;
            return;
        }
        if (old.first == old.last && (slot == nullptr || old.path == path))
            slot = &old;
    }
    if (slot == nullptr) {
        if (count_ == capacity)
            return reached(Bound::loaded_files);
        slot = &modules_[count_++];
    }
    bool good = false;
    if (slot->path == path)
        module.path = slot->path;
    else if (paths_kept_ == most(Bound::file_names))
        reached(Bound::file_names);
    else
        module.path = paths_.keep(path, good);
    paths_kept_ += good;
    module.id = ++last_id_;
    *slot = module;
    trace::Module record;
    record.id = module.id;
    record.bias = module.bias;
    record.first = module.first;
    record.last = module.last;
    record.loaded = now();
    record.path = path;
    record.build_id = base::first(build, 64);
    define(record);
}

bool ModuleMap::find(std::uintptr_t address, LoadedModule& module) noexcept {
    const Guard guard(mutex_);
    const auto holds = [address](const LoadedModule& m) { return m.first <= address && address < m.last; };
    if (last_hit_ < count_ && holds(modules_[last_hit_])) {
        module = modules_[last_hit_];
        return true;
    }
    for (std::size_t i = 0; i < count_; ++i) {
        if (!holds(modules_[i]))
            continue;
        last_hit_ = i;
        module = modules_[i];
        return true;
    }
    return false;
}

} // namespace umadvisor::record
