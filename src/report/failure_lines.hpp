#pragma once

// Lines of the report about failures. Private to src/report; pure.

#include "report/report.hpp"
#include "supervise/job_end.hpp"

#include <vector>

namespace muster {

/// Adds the first failure, which the end must have, and the errors of ranks that were only asked to end.
void add_failure(std::vector<ReportLine>& lines, const JobEnd& end);

/// Adds processes that failed without being asked to end, those that look the same in one block. The report file lists
/// more of them.
void add_other_failures(std::vector<ReportLine>& lines, const JobEnd& end);

}  // namespace muster
