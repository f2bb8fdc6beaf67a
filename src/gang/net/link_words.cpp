// The words for the end of a link.
#include "gang/net/link_words.hpp"

#include <boost/asio/error.hpp>

namespace muster::gang {

std::string describe_end(const boost::system::error_code& error) {
  if (error == boost::asio::error::eof) {
    return "closed the connection";
  }
  if (error == boost::asio::error::connection_reset || error == boost::asio::error::broken_pipe) {
    return "reset the connection";
  }
  return "cannot be reached any more (" + error.message() + ")";
}

bool concerns_token(std::string_view why) {
  return why.find("token") != std::string_view::npos;
}

std::string describe_missing_join(std::chrono::milliseconds limit) {
  std::string seconds = std::to_string(std::chrono::duration<double>(limit).count());
  seconds.erase(seconds.find_last_not_of('0') + 1);
  return "sent no join within " +
         (seconds.ends_with('.') ? seconds.substr(0, seconds.size() - 1) : seconds) + " s";
}

}  // namespace muster::gang
