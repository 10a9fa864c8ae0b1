#include "record_process.hpp"

#include "interposer/runtime/message.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {
char said_so_far[4096];
std::size_t said_bytes = 0;
} // namespace

/// The recorder's voice, kept for the test instead of written.
void umadvisor::runtime::say(const char* format, ...) noexcept {
    va_list arguments;
    va_start(arguments, format);
    const int bytes =
        std::vsnprintf(said_so_far + said_bytes, sizeof said_so_far - said_bytes - 1, format, arguments);
    va_end(arguments);
    if (bytes > 0 && said_bytes + static_cast<std::size_t>(bytes) + 2 < sizeof said_so_far) {
        said_bytes += static_cast<std::size_t>(bytes);
        said_so_far[said_bytes++] = '\n';
    }
}

namespace umadvisor::record {

ScratchDirectory::ScratchDirectory() {
    char name[] = "/tmp/umadvisor-record-XXXXXX";
    if (mkdtemp(name) == nullptr)
        throw std::runtime_error("mkdtemp");
    path_ = name;
}

ScratchDirectory::~ScratchDirectory() {
    std::filesystem::remove_all(path_);
}

int run_in_child(const std::function<int()>& program) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0)
        throw std::runtime_error("fork");
    if (child == 0)
        _exit(program());
    int status = -1;
    if (waitpid(child, &status, 0) != child)
        throw std::runtime_error("waitpid");
    return status;
}

bool succeeds_in_child(const std::function<bool()>& program) {
    return run_in_child([&] { return program() ? 0 : 1; }) == 0;
}

SharedPage::SharedPage()
    : words(static_cast<std::uint64_t*>(
          mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (words == MAP_FAILED)
        throw std::runtime_error("mmap");
}

SharedPage::~SharedPage() {
    munmap(words, 4096);
}

const char* open_trace(const std::string& path, const Varied& varied) {
    Following following{};
    following.stack_frames = varied.stack_frames;
    following.simulated_clock = varied.simulated_clock;
    if (const char* const why = follow(following))
        return why;
    Settings settings{};
    settings.path = path.c_str();
    settings.force = varied.force;
    settings.max_bytes = varied.max_bytes;
    return record::open(settings);
}

std::string_view said() {
    return {said_so_far, said_bytes};
}

} // namespace umadvisor::record
