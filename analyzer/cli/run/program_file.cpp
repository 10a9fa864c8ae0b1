#include "analyzer/cli/run/program_file.hpp"

#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace umadvisor::cli {
namespace {

bool is_file(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::string search_path(const std::string& name) {
    const char* path = std::getenv("PATH");
    std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
    std::string found;
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
        if (!is_file(candidate))
            continue;
        if (::access(candidate.c_str(), X_OK) == 0)
            return candidate;
        if (found.empty())
            found = candidate; // there, but not executable: the better message
    }
    return found;
}

/// Why the loader will not preload anything into this ELF file; empty: it will, or it is not ELF.
std::string preload_trouble(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    Elf64_Ehdr header{};
    if (!file.read(reinterpret_cast<char*>(&header), sizeof header) ||
        std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return {};
    if (header.e_ident[EI_CLASS] != ELFCLASS64)
        return "is a 32-bit program; umadvisor serves 64-bit ones";
    if (header.e_phentsize != sizeof(Elf64_Phdr))
        return {};
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment{};
        file.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof segment));
        if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment))
            return {};
        if (segment.p_type == PT_INTERP)
            return {};
    }
    return "is statically linked, so nothing can be preloaded into it; link it dynamically against libc (the "
           "CUDA runtime "
           "may stay static)";
}

} // namespace

ProgramFile find_program(const std::string& name) {
    const std::string path = name.find('/') == std::string::npos ? search_path(name) : name;
    struct stat status {};
    if (path.empty() || ::stat(path.c_str(), &status) != 0)
        return {path, name + ": no such program", 127};
    if (S_ISDIR(status.st_mode))
        return {path, name + ": is a directory", 126};
    if (::access(path.c_str(), X_OK) != 0)
        return {path, name + ": is not executable", 126};
    if (const std::string trouble = preload_trouble(path); !trouble.empty())
        return {path, name + ": " + trouble, 2};
    if (((status.st_mode & S_ISUID) != 0 && status.st_uid != ::getuid()) ||
        ((status.st_mode & S_ISGID) != 0 && status.st_gid != ::getgid()))
        return {path, name + ": is a set-user-ID program, the dynamic loader ignores LD_PRELOAD for it", 2};
    return {path, {}, 0};
}

} // namespace umadvisor::cli
