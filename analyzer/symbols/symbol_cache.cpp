#include "analyzer/symbols/symbol_cache.hpp"

#include "analyzer/files/new_file.hpp"
#include "analyzer/symbols/module_file.hpp"
#include "trace/checksum.hpp"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

namespace umadvisor::symbols {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_file = 16 << 20, largest_folder = 256 << 20;

void mix_state(std::string& state, const std::string& path) {
    struct stat status {};
    state += path + '\0';
    if (::stat(path.c_str(), &status) != 0)
        return;
    for (const auto number : {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec})
        state += std::to_string(number) + ' ';
}

/// Changes when the object does, or a file with its debug information comes or goes. The target of a debug link
/// is assumed to be the object's name plus .debug, as is usual; the object is not opened to find out.
std::uint64_t state_of(std::string_view path, std::string_view build_id, const Options& options) {
    std::string state(options.debuginfod ? "debuginfod" : "");
    const std::string file = file_path(path, options);
    const std::size_t slash = file.rfind('/') + 1;
    const std::string folder = file.substr(0, slash), link = file.substr(slash) + ".debug";
    mix_state(state, file);
    mix_state(state, folder + link);
    mix_state(state, folder + ".debug/" + link);
    for (const std::string& debug : debug_folders(options))
        mix_state(state, debug + folder + link);
    for (const std::string& candidate : build_id_paths(build_id, options))
        mix_state(state, candidate);
    return trace::checksum(reinterpret_cast<const std::uint8_t*>(state.data()), state.size());
}

std::string hexadecimal(std::string_view bytes) {
    std::string text;
    for (const unsigned char byte : bytes)
        for (const int digit : {byte >> 4, byte & 15})
            text += "0123456789abcdef"[digit];
    return text;
}

/// A whole file, if it is small enough, regular, and ours: whatever else lies there is not to be trusted.
std::string read_own_file(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return {};
    struct stat status {};
    std::string bytes;
    if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
        static_cast<std::uint64_t>(status.st_size) <= largest_file) {
        bytes.resize(static_cast<std::size_t>(status.st_size));
        if (::pread(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
            bytes.clear();
    }
    ::close(file);
    return bytes;
}

/// Removes the files that were written longest ago until `more` bytes fit.
void make_room(const std::string& folder, std::size_t more) {
    std::vector<std::tuple<fs::file_time_type, std::uintmax_t, fs::path>> files;
    std::uintmax_t sum = more;
    std::error_code failed;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
        std::error_code gone;
        if (!entry->is_regular_file(gone) || entry->is_symlink(gone))
            continue;
        files.emplace_back(entry->last_write_time(gone), entry->file_size(gone), entry->path());
        sum += std::get<1>(files.back());
    }
    std::ranges::sort(files);
    for (const auto& [time, bytes, path] : files) {
        if (sum <= largest_folder)
            break;
        sum -= bytes;
        fs::remove(path, failed);
    }
}

bool has_build_id(std::string_view build_id) {
    return build_id.size() >= 4 && build_id.size() <= 64;
}

long lines_of(const std::vector<CodePlace>& places) {
    return std::ranges::count_if(places, [](const CodePlace& place) { return !place.file.empty(); });
}

} // namespace

std::vector<std::string> CacheFolder::files(std::string_view build_id) {
    constexpr std::size_t most =
        16; // a build-id has more only where debug information comes and goes all the time
    if (path_.empty() || !has_build_id(build_id))
        return {};
    if (!listed_) {
        std::error_code failed;
        for (fs::directory_iterator entry(path_, failed), end; !failed && entry != end; entry.increment(failed))
            names_.push_back(entry->path().filename().string());
        std::ranges::sort(names_);
        listed_ = true;
    }
    const std::string prefix = hexadecimal(build_id) + "-";
    std::vector<std::pair<fs::file_time_type, std::string>> found;
    for (auto name = std::ranges::lower_bound(names_, prefix);
         name != names_.end() && name->starts_with(prefix); ++name) {
        std::error_code failed;
        const std::string file = path_ + "/" + *name;
        found.emplace_back(fs::last_write_time(file, failed), file);
    }
    std::ranges::sort(found, std::greater());
    found.resize(std::min(found.size(), most));
    std::vector<std::string> files;
    for (auto& [time, file] : found)
        files.push_back(std::move(file));
    return files;
}

SymbolCache::SymbolCache(std::string_view path, std::string_view build_id, const Options& options)
    : build_id_(build_id) {
    if (options.cache.empty() || !has_build_id(build_id))
        return;
    const std::uint64_t state = state_of(path, build_id, options);
    folder_ = options.cache;
    file_ = folder_ + "/" + hexadecimal(build_id) + "-" +
            hexadecimal({reinterpret_cast<const char*>(&state), sizeof state});
    places_ = decode_places(read_own_file(file_));
}

const std::vector<CodePlace>* SymbolCache::find(std::uint64_t address) const {
    const auto found = places_.find(address);
    return found == places_.end() ? nullptr : &found->second;
}

const std::vector<CodePlace>* SymbolCache::find_in_any_state(std::uint64_t address, CacheFolder& folder) {
    if (!of_any_state_) {
        of_any_state_.emplace();
        for (const std::string& file : folder.files(build_id_))
            for (auto& [at, places] : decode_places(read_own_file(file))) {
                std::vector<CodePlace>& known = (*of_any_state_)[at];
                if (known.empty() || lines_of(places) > lines_of(known))
                    known = std::move(places);
            }
    }
    const auto found = of_any_state_->find(address);
    return found == of_any_state_->end() ? nullptr : &found->second;
}

void SymbolCache::add(std::uint64_t address, const std::vector<CodePlace>& places) {
    if (file_.empty())
        return;
    places_[address] = places;
    changed_ = true;
}

void SymbolCache::write() const {
    const std::string bytes = encode_places(places_);
    if (bytes.size() > largest_file)
        return;
    std::error_code failed;
    if (fs::create_directories(folder_, failed))
        fs::permissions(folder_, fs::perms::owner_all, failed);
    make_room(folder_, bytes.size());
    files::NewFile file(file_, 0600); // another report may read it at this moment
    if (file.error() == 0 &&
        ::write(file.descriptor(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()))
        file.commit(true);
}

void SymbolCache::save() const noexcept {
    if (!changed_ || file_.empty())
        return;
    try {
        write();
    } catch (...) { // memory: the report is what matters
    }
}

} // namespace umadvisor::symbols
