// One object a line; its first key says what it is.
#include "store_lines.hpp"

#include <muster/base/json.hpp>

#include <utility>

namespace muster {
namespace {

struct Write {
  json::object operator()(const StoreRemark& remark) const { return {{"remark", remark.text}}; }
  json::object operator()(const StoreEnd& end) const { return {{"end", end.why}}; }
  json::object operator()(const StoreNews& news) const {
    json::array arrived;
    for (const store::Process& process : news.arrived) {
      arrived.push_back(
          {json::value(process.address), process.pid ? json::value(*process.pid) : json::value()});
    }
    return {{"meeting", news.meeting},
            {"expected", news.expected},
            {"is_complete", news.is_complete},
            {"arrived", std::move(arrived)}};
  }
};

StoreNews read_news(const json::object& object) {
  StoreNews news;
  news.meeting = object.at("meeting").to_number<std::size_t>();
  news.expected = object.at("expected").to_number<std::size_t>();
  news.is_complete = object.at("is_complete").as_bool();
  for (const json::value& entry : object.at("arrived").as_array()) {
    const json::array& process = entry.as_array();
    news.arrived.push_back({std::string(process.at(0).as_string()), std::nullopt});
    if (!process.at(1).is_null()) {
      news.arrived.back().pid = process.at(1).to_number<std::uint32_t>();
    }
  }
  return news;
}

StoreLine read_object(const json::object& object) {
  if (const auto* const remark = object.if_contains("remark")) {
    return StoreRemark{std::string(remark->as_string())};
  }
  if (const auto* const end = object.if_contains("end")) {
    return StoreEnd{std::string(end->as_string())};
  }
  return read_news(object);
}

}  // namespace

std::string write_line(const StoreLine& line) {
  json::value document = std::visit(Write{}, line);
  make_valid_utf8(document);
  return json::serialize(document) + '\n';
}

Result<std::vector<StoreLine>> StoreLineReader::feed(std::string_view bytes) {
  rest_ += bytes;
  std::vector<StoreLine> lines;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    try {
      lines.push_back(
          read_object(json::parse(std::string_view(rest_).substr(begin, end - begin)).as_object()));
    } catch (
        const std::exception& wrong) {  // Boost.JSON throws for what is not as it is asked to be
      return Error{
          ErrorKind::BadData,
          std::string("the store's process says what is none of its words: ") + wrong.what()};
    }
  }
  rest_.erase(0, begin);
  return lines;
}

}  // namespace muster
