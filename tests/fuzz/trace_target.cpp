#include "trace_target.hpp"

#include "analyzer/advice/report.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reports/dump/dump.hpp"
#include "analyzer/reports/json/json.hpp"
#include "analyzer/reports/stats/stats.hpp"
#include "analyzer/reports/text/text.hpp"
#include "analyzer/symbols/packed_symbols.hpp"
#include "seal.hpp"

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace umadvisor::fuzz {
namespace {

/// A file in memory: the reader wants a path.
class MemoryFile {
public:
    MemoryFile(const std::uint8_t* bytes, std::size_t size) : file_(::memfd_create("trace", MFD_CLOEXEC)) {
        for (std::size_t done = 0; done < size;) {
            const ssize_t wrote = ::write(file_, bytes + done, size - done);
            if (wrote <= 0)
                break;
            done += static_cast<std::size_t>(wrote);
        }
    }
    ~MemoryFile() { ::close(file_); }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;
    std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

private:
    int file_;
};

} // namespace

bool read_trace(const std::uint8_t* input, std::size_t size) {
    std::vector<std::uint8_t> bytes(input, input + size);
    seal(bytes);
    const MemoryFile file(bytes.data(), bytes.size());
    try {
        advice::Report report(file.path(), {}, true);
        std::ostringstream out;
        reports::write_text(report, out);
        out << reports::to_json(report).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
        reports::write_json_dump(report.trace, out);
        for (const std::string_view table : reports::stats_tables)
            text::write_text(reports::stats_table(report, table), out);
        symbols::encode_packed(report.symbolizer.pack());
        return true;
    } catch (const reader::Error&) {
        return false;
    }
}

} // namespace umadvisor::fuzz
