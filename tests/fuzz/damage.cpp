#include "damage.hpp"

#include "seal.hpp"

#include <algorithm>
#include <cstring>

namespace umadvisor::fuzz {
namespace {

/// Gives one field of a record a hostile value: the `target`th that it meets, or every text.
class FieldEditor {
public:
    FieldEditor(Random& random, std::size_t target, bool texts)
        : random_(random), filler_(random, 20, 0), target_(target), texts_(texts) {}

    template <class T>
    void number(std::string_view key, T& value) {
        if (hit())
            filler_.number(key, value);
    }
    void time(std::string_view, std::uint64_t& value) { moved(value); }
    void address(std::string_view, std::uint64_t& value) { moved(value); }
    void handle(std::string_view, auto& value) { moved(value); }
    void text(std::string_view key, std::string_view& value) {
        if (hit() || texts_)
            filler_.text(key, value);
    }
    void numbers(std::string_view key, auto& values) {
        if (hit())
            filler_.numbers(key, values);
    }

private:
    bool hit() { return !texts_ && met_++ == target_; }
    template <class T>
    void moved(T& value) {
        if (hit())
            value = static_cast<T>(random_() % 2 == 0
                                       ? hostile_number(random_)
                                       : static_cast<std::uint64_t>(value) + random_() % 4096 - 2048);
    }

    Random& random_;
    HostileFiller filler_;
    std::size_t target_, met_ = 0;
    bool texts_;
};

/// One record in `every` is changed, left out or written twice.
void change_records(ImageChunk& chunk, Random& random, std::uint64_t every) {
    const bool texts = random() % 4 == 0;
    edit_records(chunk, [&](auto& record, const auto& append) {
        if (random() % every != 0)
            return append(record);
        switch (random() % 8) {
        case 0:
            return;
        case 1:
            append(record);
            return append(record);
        default: {
            FieldEditor editor(random, random() % 24, texts);
            std::decay_t<decltype(record)>::fields(record, editor);
            append(record);
        }
        }
    });
}

void change_bytes(std::uint8_t* bytes, std::size_t size, Random& random) {
    for (std::uint64_t changes = 1 + random() % 8; changes > 0 && size > 0; --changes) {
        const std::size_t at = random() % size;
        switch (random() % 4) {
        case 0:
            bytes[at] = static_cast<std::uint8_t>(random());
            break;
        case 1:
            bytes[at] ^= static_cast<std::uint8_t>(1u << random() % 8);
            break;
        case 2: {
            const std::uint64_t number = hostile_number(random);
            std::memcpy(bytes + at, &number, std::min<std::size_t>(size - at, 1 + random() % 8));
            break;
        }
        default: {
            const std::size_t from = random() % size;
            std::memmove(bytes + at, bytes + from,
                         std::min({size - at, size - from, std::size_t{1} + random() % 64}));
        }
        }
    }
}

void change_chunks(TraceImage& image, const std::vector<TraceImage>& others, Random& random) {
    std::vector<ImageChunk>& chunks = image.chunks;
    const std::size_t at = random() % chunks.size();
    switch (random() % 6) {
    case 0:
        chunks.erase(chunks.begin() + static_cast<std::ptrdiff_t>(at));
        break;
    case 1:
        chunks.push_back(chunks[at]);
        break;
    case 2:
        std::swap(chunks[at], chunks[random() % chunks.size()]);
        break;
    case 3: // kind, state, thread, sequence, base time
        change_bytes(chunks[at].header.data() + 4, 20, random);
        break;
    default: {
        const TraceImage& other = others[random() % others.size()];
        for (const ImageChunk& chunk : other.chunks)
            if (random() % 2 == 0)
                chunks.push_back(chunk);
    }
    }
}

} // namespace

Bytes damaged(TraceImage image, const std::vector<TraceImage>& others, Random& random) {
    for (std::uint64_t changes = random() % 6; changes > 0 && !image.chunks.empty(); --changes) {
        ImageChunk& chunk = image.chunks[random() % image.chunks.size()];
        switch (random() % 8) {
        case 0:
            change_chunks(image, others, random);
            break;
        case 1:
            change_bytes(chunk.body.data(), chunk.body.size(), random);
            break;
        case 2: // the header's numbers behind what says that it is a trace
            change_bytes(image.header.data() + 32, image.header.size() - 32, random);
            break;
        case 3:
            for (ImageChunk& each : image.chunks)
                change_records(each, random, 1 + random() % 4);
            break;
        default:
            change_records(chunk, random, 1 + random() % 32);
        }
    }
    Bytes file = image.bytes();
    if (random() % 8 == 0)
        change_bytes(file.data(), random() % 2 == 0 ? std::min<std::size_t>(file.size(), 1024) : file.size(),
                     random);
    if (random() % 2 == 0)
        seal(file);
    if (random() % 8 == 0)
        file.resize(random() % 4 == 0 ? random() % 512 : random() % file.size());
    file.resize(std::min(file.size(), most_bytes));
    return file;
}

} // namespace umadvisor::fuzz
