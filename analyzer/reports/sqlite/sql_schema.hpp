/// The tables of `umadvisor export --sqlite`: docs/fleet.md says what they hold. A column is never renamed or
/// given another meaning without a new version.
#pragma once

namespace umadvisor::reports {

inline constexpr const char* sql_tables = R"(
PRAGMA application_id = 0x756d6164;
PRAGMA user_version = 2;

CREATE TABLE runs (
    run INTEGER PRIMARY KEY, trace TEXT, job TEXT, program TEXT, command_line TEXT, host TEXT, rank TEXT,
    pid INTEGER, parent_pid INTEGER, user TEXT, started_ns INTEGER, duration_ns INTEGER, net_ns INTEGER,
    recording_ns INTEGER, device TEXT, driver INTEGER, simulated INTEGER, complete INTEGER, dropped INTEGER,
    saving_ns REAL, replay_error REAL);
CREATE TABLE devices (
    run INTEGER REFERENCES runs, device INTEGER, name TEXT, memory_bytes INTEGER, compute_capability TEXT,
    managed_memory INTEGER, concurrent_managed_access INTEGER, pageable_memory_access INTEGER,
    copy_engines INTEGER, PRIMARY KEY (run, device)) WITHOUT ROWID;
CREATE TABLE prices (
    run INTEGER REFERENCES runs, name TEXT, device TEXT, value REAL, PRIMARY KEY (run, name)) WITHOUT ROWID;
CREATE TABLE ranks (
    run INTEGER PRIMARY KEY REFERENCES runs, job TEXT, rank INTEGER, host TEXT, calls INTEGER, call_ns INTEGER,
    waited_ns INTEGER, copies INTEGER, copy_ns INTEGER, copied_to_device_bytes INTEGER,
    copied_to_host_bytes INTEGER, launches INTEGER, kernel_ns INTEGER, allocations INTEGER,
    allocated_bytes INTEGER, moved_to_device_bytes INTEGER, moved_to_host_bytes INTEGER, host_faults INTEGER,
    device_faults INTEGER, findings INTEGER, saving_ns REAL);
CREATE TABLE threads (
    run INTEGER REFERENCES runs, thread INTEGER, name TEXT, PRIMARY KEY (run, thread)) WITHOUT ROWID;
CREATE TABLE entries (
    run INTEGER REFERENCES runs, entry INTEGER, symbol TEXT, name TEXT, PRIMARY KEY (run, entry)) WITHOUT ROWID;
CREATE TABLE functions (
    run INTEGER REFERENCES runs, function INTEGER, name TEXT, PRIMARY KEY (run, function)) WITHOUT ROWID;
CREATE TABLE stacks (
    run INTEGER REFERENCES runs, stack INTEGER, line TEXT, function TEXT, file TEXT, line_number INTEGER,
    module TEXT, frames TEXT, PRIMARY KEY (run, stack)) WITHOUT ROWID;
CREATE TABLE calls (
    call INTEGER PRIMARY KEY, run INTEGER REFERENCES runs, thread INTEGER, entry INTEGER, stack INTEGER,
    start_ns INTEGER, duration_ns INTEGER, waited_ns INTEGER, measured INTEGER, status INTEGER, bytes INTEGER,
    by_umadvisor INTEGER);
CREATE TABLE copies (
    copy INTEGER PRIMARY KEY, call INTEGER REFERENCES calls, run INTEGER REFERENCES runs, stack INTEGER,
    direction TEXT, source_memory TEXT, destination_memory TEXT, source_allocation INTEGER,
    destination_allocation INTEGER, bytes INTEGER, asynchronous INTEGER, staged INTEGER, status INTEGER,
    device INTEGER, stream INTEGER, device_start_ns INTEGER, device_ns INTEGER, device_measured INTEGER);
CREATE TABLE launches (
    launch INTEGER PRIMARY KEY, call INTEGER REFERENCES calls, run INTEGER REFERENCES runs, stack INTEGER,
    function INTEGER, graph INTEGER, grid_x INTEGER, grid_y INTEGER, grid_z INTEGER, block_x INTEGER,
    block_y INTEGER, block_z INTEGER, shared_bytes INTEGER, device INTEGER, stream INTEGER,
    device_start_ns INTEGER, device_ns INTEGER, device_measured INTEGER);
CREATE TABLE allocations (
    run INTEGER REFERENCES runs, allocation INTEGER, entry INTEGER, stack INTEGER, memory TEXT, variable TEXT,
    address INTEGER, bytes INTEGER, device INTEGER, allocated_ns INTEGER, freed_ns INTEGER, free_stack INTEGER,
    copied_to_device_bytes INTEGER, copied_to_host_bytes INTEGER, moved_to_device_bytes INTEGER,
    moved_to_host_bytes INTEGER, host_faults INTEGER, device_faults INTEGER);
CREATE TABLE managed_lines (
    run INTEGER REFERENCES runs, stack INTEGER, entry INTEGER, variable TEXT, allocations INTEGER,
    allocated_bytes INTEGER, moved_to_device_bytes INTEGER, moved_to_host_bytes INTEGER, basis TEXT,
    moved_between_devices_bytes INTEGER, host_faults INTEGER, device_faults INTEGER);
CREATE TABLE moves (
    run INTEGER REFERENCES runs, start_ns INTEGER, duration_ns INTEGER, allocation INTEGER, address INTEGER,
    bytes INTEGER, from_device INTEGER, to_device INTEGER, cause TEXT);
CREATE TABLE faults (
    run INTEGER REFERENCES runs, start_ns INTEGER, device INTEGER, allocation INTEGER, address INTEGER,
    bytes INTEGER, access TEXT, faults INTEGER, thread INTEGER, stack INTEGER);
CREATE TABLE findings (
    run INTEGER REFERENCES runs, finding INTEGER, rule TEXT, name TEXT, title TEXT, seen TEXT, advice TEXT,
    basis TEXT, confidence TEXT, saving_ns REAL, saving_at_least_ns REAL, saving_at_most_ns REAL,
    saving_bytes INTEGER, stack INTEGER, allocation_stack INTEGER, allocation TEXT, at_ns INTEGER,
    worst_begin_ns INTEGER, worst_end_ns INTEGER, typical_begin_ns INTEGER, typical_end_ns INTEGER,
    PRIMARY KEY (run, finding)) WITHOUT ROWID;
)";

/// Made when all rows are there: that is twice as fast.
inline constexpr const char* sql_indexes = R"(
CREATE INDEX calls_by_stack ON calls (run, stack);
CREATE INDEX calls_by_time ON calls (run, start_ns);
CREATE INDEX copies_by_stack ON copies (run, stack);
CREATE INDEX launches_by_function ON launches (run, function);
CREATE INDEX allocations_by_number ON allocations (run, allocation);
CREATE INDEX moves_by_allocation ON moves (run, allocation);
CREATE INDEX faults_by_allocation ON faults (run, allocation);
CREATE INDEX findings_by_rule ON findings (rule);
CREATE INDEX runs_by_job ON runs (job);
)";

} // namespace umadvisor::reports
