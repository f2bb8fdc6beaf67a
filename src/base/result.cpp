// Defines the two functions of Result and Error that need not be inline.
#include "base/result.hpp"

#include <stdexcept>
#include <system_error>

namespace muster {

void throw_exception_from_error(const Error& error, const boost::source_location& location) {
  throw std::logic_error(std::string(location.file_name()) + ": unchecked error: " + error.message);
}

Error system_error(std::string_view attempt, int error_number) {
  return Error{ErrorKind::System, std::string(attempt) + ": " + std::generic_category().message(error_number)};
}

}  // namespace muster
