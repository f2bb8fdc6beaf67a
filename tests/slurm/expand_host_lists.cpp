// Reads Slurm's compressed lists, one on each line, and writes what each expands to on a line, or the
// refusal behind a "!".
#include "base/text.hpp"
#include "platforms/host_lists.hpp"

#include <iostream>

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto hosts = muster::read_slurm_list({line, muster::from_variable("LIST")});
    std::cout << (hosts ? muster::join(hosts->value, " ") : "! " + hosts.error().message) << '\n';
  }
}
