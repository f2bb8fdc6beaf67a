#pragma once

// A run without folders, for tests of what works in one.

#include "run/run_context.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace muster {

class RunFixture : public ::testing::Test {
 protected:
  std::map<std::string, std::string> variables_;
  std::string marker_ = "unit-test";
  std::string log_folder_;
  std::string no_folder_;
  RunOptions options_;
  Inherited inherited_;
  JobPlan job_;
  ExitReport exit_report_;
  RunContext run_{job_,    options_,    inherited_, variables_, exit_report_,
                  marker_, log_folder_, no_folder_, no_folder_, no_folder_};
};

}  // namespace muster
