#include "analyzer/rules/transfers/host_sources.hpp"

#include <algorithm>

namespace umadvisor::rules {

const HostSources::Sent* HostSources::find(const trace::Copy& upload) const {
    const auto same = [&](const Sent& sent) {
        return sent.bytes == upload.bytes && sent.part_hash == upload.content.part_hash;
    };
    const Sent* const place = places_.find(upload.source);
    if (place != nullptr && same(*place))
        return place;
    if (upload.content.value_bytes != 0) // what has one value in a part may be anything elsewhere
        return nullptr;
    const auto found = std::ranges::find_if(latest_, same);
    return found != latest_.end() ? &*found : nullptr;
}

void HostSources::add(const trace::Copy& upload) {
    Sent* place = places_.find(upload.source);
    if (place == nullptr) {
        if (places_known_++ == most_places) {
            places_.clear();
            places_known_ = 1;
        }
        place = &places_[upload.source];
    }
    // Recording looks at page-locked memory before the call, at pageable memory after it.
    const std::uint64_t looked =
        upload.source_memory == trace::Memory::pageable ? upload.content.look_duration : 0;
    *place = {upload.source,
              upload.bytes,
              upload.content.part_hash,
              upload.content.whole_hash,
              ids::StackId::of(upload),
              upload.start + upload.duration + looked,
              upload.destination_allocation,
              upload.destination};
    latest_[next_++ % latest_.size()] = *place;
}

bool HostSources::holds(const trace::Copy& download, std::uint64_t part_hash) const {
    const Sent* const place = places_.find(download.destination);
    return place != nullptr && place->bytes == download.bytes && place->part_hash == part_hash;
}

void HostSources::overwrite(const trace::Copy& download) {
    if (Sent* const place = places_.find(download.destination))
        place->bytes = 0;
}

} // namespace umadvisor::rules
