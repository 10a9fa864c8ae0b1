#include "analyzer/live/status.hpp"

#include "analyzer/live/answer.hpp"
#include "analyzer/text/figures.hpp"

namespace umadvisor::live {

Status read_status(const nlohmann::json& answer) {
    Status status;
    status.version = text_of(answer, "version");
    status.program = text_of(answer, "program");
    status.mode = text_of(answer, "mode");
    status.recording = flag_of(answer, "recording");
    status.file = text_of(answer, "file");
    if (const auto ends = answer.find("ends_in_s"); ends != answer.end() && ends->is_number())
        status.ends_in_s = ends->get<double>();
    status.recordings = count_of(answer, "recordings");
    status.dropped = count_of(answer, "dropped");
    status.dropped_because = text_of(answer, "dropped_because");
    status.watched = flag_of(answer, "watched");
    status.snapshot = text_of(answer, "snapshot");
    status.trigger = text_of(answer, "trigger");
    status.trigger_rests = flag_of(answer, "trigger_rests");
    if (const auto act = answer.find("act"); act != answer.end() && act->is_array())
        for (const nlohmann::json& each : *act)
            if (each.is_object())
                status.act.push_back({text_of(each, "mode"), flag_of(each, "on")});
    status.kept_device_bytes = count_of(answer, "kept_device_bytes");
    status.kept_pinned_bytes = count_of(answer, "kept_pinned_bytes");
    return status;
}

std::string kept_text(const Status& status) {
    std::string text;
    const auto add = [&](std::uint64_t bytes, std::string_view memory) {
        if (bytes != 0)
            text += fmt::format("{}{} {}", text.empty() ? "kept: " : ", ", text::bytes_text(bytes), memory);
    };
    add(status.kept_device_bytes, "device");
    add(status.kept_pinned_bytes, "pinned");
    return text;
}

std::string status_text(const Status& status) {
    std::string line = status.mode.empty() ? "mode unknown" : status.mode;
    if (status.recording) {
        line += ", recording to " + status.file;
        if (status.ends_in_s)
            line += fmt::format(", which ends in {}", text::time_text(*status.ends_in_s * 1e9));
    } else {
        line += ", not recording";
    }
    if (status.recordings != 0)
        line += ", " + text::count_text(status.recordings, "recording") + " so far";
    if (!status.recording && !status.file.empty())
        line += ", last: " + status.file;
    if (!status.snapshot.empty())
        line += ", last snapshot: " + status.snapshot;
    if (status.dropped != 0)
        line += fmt::format(", {} dropped{}{}", text::count_text(status.dropped, "record"),
                            status.dropped_because.empty() ? "" : ": ", status.dropped_because);
    if (!status.trigger.empty())
        line += (status.trigger_rests ? ", records no more within this hour (--when-limit) when "
                                      : ", records when ") +
                status.trigger;
    std::string modes;
    for (const ActMode& each : status.act)
        if (each.on)
            modes += (modes.empty() ? "" : ",") + each.mode;
    if (!modes.empty())
        line += ", --act " + modes;
    if (const std::string kept = kept_text(status); !kept.empty())
        line += ", " + kept;
    return line + (status.watched ? ", watched" : "");
}

} // namespace umadvisor::live
