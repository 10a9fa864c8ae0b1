/// What the recorder has to say to the reader of a report.
#pragma once

#include "analyzer/advice/report.hpp"

#include <string>

namespace umadvisor::reports {

/// The notice's sentence, and in brackets the line of the program that it is about: "--act prefetch: a managed
/// allocation is left to faults for now (cudaMallocManaged 8 MiB, allocated at pingpong.cu:32 in main())".
std::string notice_text(advice::Report& report, const trace::Notice& notice);

} // namespace umadvisor::reports
