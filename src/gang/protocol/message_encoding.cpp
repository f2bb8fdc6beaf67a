// Encodes messages as JSON within their size limits, and decodes what an untrusted sender may have sent.
#include "gang/protocol/message_encoding.hpp"

#include "gang/protocol/field_io.hpp"

#include <algorithm>
#include <utility>

namespace muster::gang {

std::string fields::quote(const json::value& value) {
  constexpr std::size_t kMost = 40;
  return value.is_structured() ? std::string("a list or object") : shortened(json::serialize(value), kMost);
}

Result<json::value> fields::parse(std::string_view text) {
  json::parse_options limits;
  limits.max_depth = 8;
  boost::system::error_code error;
  json::value document = json::parse({text.data(), text.size()}, error, {}, limits);
  return error ? Result<json::value>(Error{ErrorKind::BadData, "no JSON: " + error.message()}) : document;
}

namespace {

/// Takes a mutable message because the description that writes it also reads; the writer changes nothing.
std::string encode(Message& message, std::size_t share) {
  fields::Writer writer(share);
  writer.object()["type"] = name_of(message);
  std::visit([&](auto& known) { fields::describe(writer, known); }, message);
  return writer.text();
}

/// Encodes within the limit. A control character takes six bytes in JSON, so texts full of them are cut once more.
std::string encode_within(Message message, std::size_t limit) {
  constexpr std::size_t kMostShare = 1'024;  // lists are short, so this is never reached
  std::string text = encode(message, 1);
  for (std::size_t share = 2; text.size() > limit && share <= kMostShare; share *= 2) {
    text = encode(message, share);
  }
  return text;
}

std::size_t most_bytes(const Message& message) {
  if (std::holds_alternative<Join>(message)) {
    return kMostJoinBytes;
  }
  return kMostMessageBytes;
}

}  // namespace

const char* name_of(const Message& message) {
  return fields::kNames.at(message.index());
}

std::string encode(const Message& message) {
  return encode_within(message, most_bytes(message));
}

JobFacts normalized(JobFacts job) {
  if (job.most_nodes == 1) {
    return job;
  }
  std::size_t endpoints = 0;
  for (RoleEndpoints& role : job.endpoints) {
    role.endpoints.resize(std::min(role.endpoints.size(), kMostEndpoints - endpoints));
    endpoints += role.endpoints.size();
  }
  Join join;
  join.incarnation = std::string(16, '0');
  join.job = std::move(job);
  const auto received = decode(encode_within(Message(join), kMostFactsBytes));
  return received ? std::get<Join>(*received).job : join.job;
}

// Decodes messages of untrusted senders. Errors name the wrong field and what was expected.

namespace {

Error bad(std::string message) {
  return {ErrorKind::BadData, std::move(message)};
}

/// Returns a default message of that name; empty: unknown name.
std::optional<Message> make_message(std::string_view name) {
  const auto make = [&]<std::size_t... I>(std::index_sequence<I...> /*indices*/) {
    std::optional<Message> message;
    ((name == fields::kNames.at(I) ? message.emplace(std::in_place_index<I>), 0 : 0), ...);
    return message;
  };
  return make(std::make_index_sequence<fields::kNames.size()>());
}

/// Checks conditions that involve several fields.
std::string objection(const Message& message) {
  const Join* const join = std::get_if<Join>(&message);
  const bool is_ours = join != nullptr && join->protocol == kProtocol;
  constexpr std::size_t kDigits = 16;
  if (is_ours && (join->incarnation.size() != kDigits ||
                  join->incarnation.find_first_not_of("0123456789abcdef") != std::string::npos)) {
    return "'incarnation' is '" + join->incarnation + "', expected 16 hexadecimal digits";
  }
  if (is_ours && join->job.least_nodes > join->job.most_nodes) {
    return "'job.least_nodes' is " + std::to_string(join->job.least_nodes) +
           ", expected at most 'job.most_nodes', which is " + std::to_string(join->job.most_nodes);
  }
  return {};
}

}  // namespace

Result<Message> decode(std::string_view bytes) {
  const std::string_view text = bytes.substr(0, bytes.find('\0'));
  const json::value document = TRY(fields::parse(text));
  if (!document.is_object()) {
    return bad("no JSON object");
  }
  const json::value* const type = document.get_object().if_contains("type");
  if (type == nullptr || !type->is_string()) {
    return bad("'type' is missing, expected the name of a message");
  }
  const json::string& name = type->get_string();
  std::optional<Message> message = make_message({name.data(), name.size()});
  if (!message) {
    return bad("'type' is " + fields::quote(*type) + ", expected the name of a message such as \"join\"");
  }
  std::string problem;
  fields::Reader reader(document.get_object(), "", problem);
  reader.set_tail(bytes.substr(std::min(bytes.size(), text.size() + 1)));
  std::visit([&](auto& known) { fields::describe(reader, known); }, *message);
  if (problem.empty() && reader.has_unread_tail()) {
    problem = "bytes follow that it does not have";
  }
  if (problem.empty()) {
    problem = objection(*message);
  }
  if (!problem.empty()) {
    return bad("in '" + std::string(name_of(*message)) + "' " + problem);
  }
  return std::move(*message);
}

}  // namespace muster::gang
