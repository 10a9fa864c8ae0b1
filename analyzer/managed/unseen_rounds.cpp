#include "analyzer/managed/unseen_rounds.hpp"

#include "analyzer/reader/saturated.hpp"

namespace umadvisor::managed {

void UnseenRounds::Direction::see(std::uint64_t bytes) {
    const auto seen = static_cast<double>(bytes);
    sum_ += static_cast<double>(unseen_) * (any_ ? (last_ + seen) / 2 : seen);
    last_ = seen;
    unseen_ = 0;
    any_ = true;
}

std::uint64_t UnseenRounds::Direction::estimate() const {
    return reader::saturated(sum_ + static_cast<double>(unseen_) * last_);
}

void UnseenRounds::take(const UseStep& step) {
    switch (step.kind) {
    case UseKind::launch:
        return launch();
    case UseKind::wait:
        waited_ = true;
        return;
    case UseKind::look_before_launch:
        given_up_ = given_up_ || step.faults_known;
        return look_before_launch(step.host_bytes);
    case UseKind::look_after_wait:
        given_up_ = given_up_ || step.faults_known;
        return look_in_round(step.host_bytes);
    case UseKind::prefetch_to_device:
    case UseKind::prefetch_to_host:
    case UseKind::host_fault:
        given_up_ = true;
        return;
    case UseKind::totals:
    case UseKind::arrival:
        return;
    }
}

std::uint64_t UnseenRounds::bytes(bool on_device) const {
    return given_up_ ? 0 : (on_device ? to_device_ : to_host_).estimate();
}

void UnseenRounds::launch() {
    if (open_ && !waited_)
        return;
    const bool just_looked = !open_;
    if (!just_looked) {
        close();
        came_known_ = false;
    }
    open_ = true;
    waited_ = looked_ = went_known_ = false;
    if (just_looked && seen_ == Seen::before_launch && on_host_ == 0)
        went(0); // there is nothing to go
}

void UnseenRounds::close() {
    if (!open_)
        return;
    if (!came_known_)
        to_host_.leave_out();
    if (!went_known_)
        to_device_.leave_out();
    open_ = false;
}

void UnseenRounds::went(std::uint64_t bytes) {
    if (went_known_)
        to_device_.see_more(bytes);
    else
        to_device_.see(bytes);
    went_known_ = true;
}

void UnseenRounds::look_before_launch(std::uint64_t host_bytes) {
    const bool less = host_bytes < on_host_;
    if (open_ && !waited_) {
        if (less)
            look_in_round(host_bytes);
        return;
    }
    if (open_) {
        // With no look since its begin, what is as it was may have stayed, or gone and come back.
        const bool known = seen_ != Seen::never;
        if (known && less)
            went(on_host_ - host_bytes);
        close();
        came_known_ = known && (looked_ || host_bytes == 0 || host_bytes != on_host_);
        if (came_known_)
            to_host_.see(less ? 0 : host_bytes - on_host_);
    }
    seen_ = Seen::before_launch;
    on_host_ = host_bytes;
}

/// After the wait, or while its launches run.
void UnseenRounds::look_in_round(std::uint64_t host_bytes) {
    if (open_) {
        const bool less = host_bytes < on_host_;
        if (less ? seen_ != Seen::never : seen_ == Seen::before_launch && on_host_ != 0)
            went(less ? on_host_ - host_bytes : 0);
        if (seen_ == Seen::after_wait && less && !came_known_) {
            to_host_.see(0);
            came_known_ = true;
        }
        seen_ = Seen::after_wait;
        looked_ = true;
    }
    on_host_ = host_bytes;
}

} // namespace umadvisor::managed
