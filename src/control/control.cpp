// Parses and writes the control requests and answers. Any process that can open the socket may send anything, so every
// field is checked.
#include "control/control.hpp"

#include "base/display_text.hpp"
#include "base/file_io.hpp"
#include "base/text.hpp"
#include "environment/mounted_files.hpp"

#include <poll.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <system_error>
#include <utility>

namespace muster::control {
namespace {

constexpr std::size_t kMostReasonBytes = 512;
constexpr double kMostSeconds = 315'360'000;  // ten years, as everywhere
constexpr int kMostRank = 1'000'000;

Error bad(std::string what) {
  return {ErrorKind::BadData, std::move(what)};
}

Result<json::object> parse_line(std::string_view line) {
  auto object = parse_object(line);
  if (!object) {
    const std::string example = "{\"control\":1,\"request\":\"status\"}";
    return bad("expected a line with one object of JSON, such as " + example);
  }
  const json::value* const version = object->if_contains("control");
  if (version == nullptr || !version->is_int64()) {
    return bad("expected \"control\":" + std::to_string(kVersion) + ", the version of the interface");
  }
  if (version->get_int64() != kVersion) {
    return bad("version " + std::to_string(version->get_int64()) +
               " of the interface is asked for; this muster speaks version " + std::to_string(kVersion));
  }
  return std::move(*object);
}

/// Reads a field in seconds. Empty: the field is missing.
Result<std::optional<std::chrono::milliseconds>> read_seconds(const json::object& object, const char* name) {
  const json::value* const value = object.if_contains(name);
  if (value == nullptr || value->is_null()) {
    return std::optional<std::chrono::milliseconds>();
  }
  boost::system::error_code error;
  const double seconds = value->is_number() ? value->to_number<double>(error) : -1;
  if (error || !(seconds >= 0 && seconds <= kMostSeconds)) {
    return bad(std::string("\"") + name + "\" is no number of seconds from 0 to ten years");
  }
  return std::optional(std::chrono::milliseconds(std::llround(seconds * 1'000)));
}

Result<Request> read_stop(const json::object& object) {
  return Request(StopRequest{TRY(read_seconds(object, "grace"))});
}

Result<Request> read_suspend(const json::object& object) {
  const auto within = TRY(read_seconds(object, "within"));
  const json::value* const reason = object.if_contains("reason");
  if (reason != nullptr && !reason->is_string()) {
    return bad("\"reason\" is no text");
  }
  const std::string text = reason == nullptr ? "" : std::string(reason->get_string());
  return Request(SuspendRequest{within, one_line(text, kMostReasonBytes)});
}

constexpr std::string_view kIfSound = "if sound";
constexpr std::string_view kAlways = "always";

Result<Request> read_stacks(const json::object& object) {
  const std::string_view wish = text_of(object, "ask_nccl");
  if (!object.contains("ask_nccl")) {
    return Request(StacksRequest{});
  }
  if (wish != kIfSound && wish != kAlways) {
    return bad("\"ask_nccl\" is neither 'if sound' nor 'always'");
  }
  return Request(StacksRequest{wish == kAlways ? AskNccl::Always : AskNccl::IfSound});
}

Result<Request> read_saved(const json::object& object) {
  const json::value* const rank = object.if_contains("rank");
  if (rank == nullptr || rank->is_null()) {
    return Request(SavedRequest{});
  }
  const std::int64_t* const number = rank->if_int64();
  if (number == nullptr || *number < 0 || *number > kMostRank) {
    return bad("\"rank\" is no rank");
  }
  return Request(SavedRequest{static_cast<int>(*number)});
}

json::object request_of(const char* name) {
  return json::object{{"control", kVersion}, {"request", name}};
}

double seconds_of(std::chrono::milliseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

struct Writer {
  json::object operator()(const HelloRequest& /*hello*/) const { return request_of("hello"); }
  json::object operator()(const StatusRequest& /*status*/) const { return request_of("status"); }
  json::object operator()(const StacksRequest& stacks) const {
    json::object object = request_of("stacks");
    if (stacks.nccl != AskNccl::No) {
      object["ask_nccl"] = stacks.nccl == AskNccl::Always ? kAlways : kIfSound;
    }
    return object;
  }
  json::object operator()(const StopRequest& stop) const {
    json::object object = request_of("stop");
    if (stop.grace) {
      object["grace"] = seconds_of(*stop.grace);
    }
    return object;
  }
  json::object operator()(const SuspendRequest& suspend) const {
    json::object object = request_of("suspend");
    if (suspend.within) {
      object["within"] = seconds_of(*suspend.within);
    }
    if (!suspend.reason.empty()) {
      object["reason"] = suspend.reason;
    }
    return object;
  }
  json::object operator()(const WithdrawRequest& /*withdraw*/) const { return request_of("cancel_suspend"); }
  json::object operator()(const SavedRequest& saved) const {
    json::object object = request_of("saved");
    if (saved.rank) {
      object["rank"] = *saved.rank;
    }
    return object;
  }
};

std::string line_of(json::object object) {
  json::value document = std::move(object);
  make_valid_utf8(document);
  return json::serialize(document) + "\n";
}

}  // namespace

Result<Request> parse_request(std::string_view line) {
  const auto object = TRY(parse_line(line));
  const std::string request(text_of(object, "request"));
  if (request == "hello") {
    return Request(HelloRequest{});
  }
  if (request == "status") {
    return Request(StatusRequest{});
  }
  if (request == "stacks") {
    return read_stacks(object);
  }
  if (request == "stop") {
    return read_stop(object);
  }
  if (request == "suspend") {
    return read_suspend(object);
  }
  if (request == "cancel_suspend") {
    return Request(WithdrawRequest{});
  }
  if (request == "saved") {
    return read_saved(object);
  }
  return bad("\"request\" is none of hello, status, stacks, stop, suspend, cancel_suspend and saved");
}

std::string write_request(const Request& request) {
  return line_of(std::visit(Writer{}, request));
}

std::string write_answer(const json::object& more) {
  json::object object{{"control", kVersion}, {"ok", true}};
  for (const auto& [name, value] : more) {
    object[name] = value;
  }
  return line_of(std::move(object));
}

std::string write_refusal(const std::string& why) {
  return line_of(json::object{{"control", kVersion}, {"ok", false}, {"error", why}});
}

Result<json::object> parse_answer(std::string_view line) {
  auto object = parse_line(line);
  if (!object) {
    return Error{ErrorKind::Incomplete, "the job gave an invalid answer: " + object.error().message};
  }
  const json::value* const ok = object->if_contains("ok");
  if (ok != nullptr && ok->is_bool() && ok->get_bool()) {
    return object;
  }
  const json::value* const why = object->if_contains("error");
  return Error{ErrorKind::Incomplete, why != nullptr && why->is_string()
                                          ? one_line(std::string(why->get_string()), kMostReasonBytes)
                                          : "the job refused the request"};
}

}  // namespace muster::control
