#include "interposer/base/text.hpp"
#include "interposer/record/bounds.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/pages.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/sink.hpp"
#include "trace/checksum.hpp"

#include <cstdint>
#include <string_view>

namespace umadvisor::record {
namespace {

/// Open addressing, doubled when three quarters full. Used under a lock, so one lookup is all it has to be good
/// at.
class StringTable {
public:
    constexpr StringTable() noexcept = default;

    /// 0 when there is no memory or no room.
    std::uint64_t id(std::string_view text) noexcept {
        if (used_ * 4 >= slots_ * 3 && !enlarge()) {
            sink.drop(trace::DropReason::no_memory);
            return 0;
        }
        const std::uint64_t hash =
            trace::checksum(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
        Slot& slot = find(hash, text);
        if (slot.id != 0)
            return slot.id;
        if (used_ == most(Bound::texts)) {
            reached(Bound::texts);
            return 0;
        }
        bool good = false;
        const std::string_view kept = arena_.keep(text, good);
        if (!good) {
            sink.drop(trace::DropReason::no_memory);
            return 0;
        }
        slot = {hash, kept, ++used_};
        trace::String record;
        record.id = slot.id;
        record.text = kept;
        define(record);
        return slot.id;
    }

private:
    struct Slot {
        std::uint64_t hash;
        std::string_view text;
        std::uint64_t id; ///< 0: free
    };

    Slot& find(std::uint64_t hash, std::string_view text) noexcept {
        std::uint64_t at = (hash ^ (hash >> 32)) & (slots_ - 1);
        while (table_[at].id != 0 && (table_[at].hash != hash || table_[at].text != text))
            at = (at + 1) & (slots_ - 1);
        return table_[at];
    }

    bool enlarge() noexcept {
        const std::uint64_t slots = slots_ == 0 ? 1024 : slots_ * 2;
        Slot* table = static_cast<Slot*>(map_pages(slots * sizeof(Slot)));
        if (table == nullptr)
            return false;
        Slot* old = table_;
        const std::uint64_t old_slots = slots_;
        table_ = table;
        slots_ = slots;
        for (std::uint64_t i = 0; i < old_slots; ++i)
            if (old[i].id != 0)
                find(old[i].hash, old[i].text) = old[i];
        if (old != nullptr)
            unmap_pages(old, old_slots * sizeof(Slot));
        return true;
    }

    Slot* table_ = nullptr;
    std::uint64_t slots_ = 0, used_ = 0;
    Arena arena_;
};

constinit Mutex strings_mutex;
constinit StringTable strings;

} // namespace

std::uint64_t string_id(std::string_view text) noexcept {
    if (!recording())
        return 0;
    const Quiet quiet;
    const Guard guard(strings_mutex);
    return strings.id(base::first(text, trace::max_text));
}

} // namespace umadvisor::record
