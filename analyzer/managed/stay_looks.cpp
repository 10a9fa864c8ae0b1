/// What looks at the host's page table say of where memory is.
#include "analyzer/managed/stays.hpp"

#include <algorithm>

namespace umadvisor::managed {

/// Of what the host had before the launch, all that is gone and was not on its way by prefetch came by faults.
void Stays::arrived_by_faults(std::uint64_t left_on_host) {
    const std::uint64_t gone = before_launch_ - std::min(before_launch_, left_on_host);
    const std::uint64_t known = before_launch_ + now().by_prefetch;
    const std::uint64_t under_way = known - std::min(known, bytes_);
    const std::uint64_t by_faults = gone - std::min(gone, under_way);
    now().pulls += by_faults > now().by_fault;
    now().by_fault = std::max(now().by_fault, by_faults);
    now().unmeasured = false;
}

/// A look shows that launches moved more of the allocation to the device, where a part of it lay before.
void Stays::pulled_more(const UseStep& step) {
    if (step.host_bytes >= on_host_)
        return;
    if (step.faults_known) {
        if (!prefetched_)
            arrived_by_faults(step.host_bytes);
    } else if (now().by_prefetch == 0) {
        ++now().pulls;
        now().by_fault = std::min(bytes_, now().by_fault + (on_host_ - step.host_bytes));
    }
}

/// The first look after the launches that brought the allocation to the device have ended.
void Stays::confirm_there(const UseStep& step) {
    if (step.host_bytes == 0 || step.host_bytes < on_host_) {
        arrived_by_faults(step.host_bytes);
        seen_there_ = true;
    } else if (!step.faults_known && !looked_) {
        now().populated = false; // the host had it, and may have had it first
        before_launch_ = step.host_bytes;
    } else if (!step.faults_known && step.host_bytes > on_host_) {
        came_back(step.host_bytes - on_host_);
    }
}

/// A look shows that the host took memory back. Without records of its faults the time is unknown: the stay on
/// the host begins at the last wait.
void Stays::came_back(std::uint64_t bytes) {
    Stay& stay = begin(false, last_wait_);
    stay.by_fault = bytes;
    stay.ready = last_wait_;
}

/// Remembers that this stay on the device has been looked at: such looks show what stayed on the host.
void Stays::note_look() {
    if (here() && now().on_device && waited_)
        now().looked_at = true;
}

void Stays::look_before_launch(const UseStep& step) {
    note_look();
    if (!here()) {
        if (step.host_bytes != 0)
            begin(false, step.time).populated = true;
    } else if (!now().on_device) {
        if (!pending_.empty() && step.host_bytes < on_host_) {
            follow_launches(on_host_ - step.host_bytes);
            seen_there_ = waited_; // else the rest may still be on its way
        } else if (now().by_fault != 0 && step.host_bytes > on_host_) {
            const std::uint64_t came = step.host_bytes - on_host_;
            now().by_fault =
                step.faults_known ? std::max(now().by_fault, came) : std::min(bytes_, now().by_fault + came);
        }
    } else if (!step.faults_known && !seen_there_ && launches_.empty() && now().by_prefetch != 0 &&
               last_wait_ > now().begin && step.host_bytes != 0) {
        came_back(step.host_bytes);
    } else if (!seen_there_ && launches_.empty()) {
        before_launch_ = std::max(step.host_bytes, now().by_prefetch == 0 ? before_launch_ : 0);
    } else if (!seen_there_ && waited_) {
        confirm_there(step);
    } else if (seen_there_ && step.host_bytes > on_host_) {
        const std::uint64_t came = step.host_bytes - on_host_;
        if (step.faults_known) {
            evicted_ += came;
        } else {
            came_back(came);
        }
    } else if (seen_there_) {
        pulled_more(step);
    }
    if (here() && !now().on_device) {
        if (step.content != 0) {
            now().content = step.content;
            now().lone_line = step.lone_line;
        }
        if (now().regularity != trace::Regularity::regular && step.regularity != trace::Regularity::unknown)
            now().regularity = step.regularity;
    }
    on_host_ = step.host_bytes;
    looked_ = true;
}

void Stays::look_after_wait(const UseStep& step) {
    note_look();
    if (here() && now().on_device) {
        if (!std::exchange(seen_there_, true))
            arrived_by_faults(step.host_bytes);
        else
            pulled_more(step);
    } else if (here() && !pending_.empty()) {
        if (step.host_bytes < on_host_) {
            const std::uint64_t left = on_host_ - step.host_bytes;
            follow_launches(left);
            seen_there_ = true;
        } else if (step.host_bytes != 0 || now().by_fault == 0) { // else the look has not met what came
            launches_.add(pending_);
            now().remote_launches = launches_.most();
            now().kernel = pending_kernel_;
            pending_.clear();
        }
    }
    on_host_ = step.host_bytes;
    looked_ = true;
}

} // namespace umadvisor::managed
