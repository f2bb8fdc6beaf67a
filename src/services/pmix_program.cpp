// The PMIx server, carried in this program, as a file.
#include "base/unique_fd.hpp"
#include "base/write_all.hpp"
#include "mpi/pmix_server_program.hpp"
#include "services/pmix.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace muster {

Result<std::string> write_pmix_server(const std::string& run_folder) {
  if (run_folder.empty()) {
    return Error{ErrorKind::System,
                 "there is no folder for its files (TMPDIR names another place)"};
  }
  std::string path = run_folder + "/muster-pmix";
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700));
  if (!file) {
    return errno == EEXIST ? Result<std::string>(std::move(path))  // of an earlier attempt
                           : system_error("cannot write '" + path + "'", errno);
  }
  const WriteResult written = write_all(file.get(), mpi::pmix_server_program());
  if (written.error_number != 0) {
    ::unlink(path.c_str());  // nobody shall take a part for the whole
    return system_error("cannot write '" + path + "'", written.error_number);
  }
  return path;
}

}  // namespace muster
