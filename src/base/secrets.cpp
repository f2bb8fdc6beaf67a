// Finds secrets by their names and masks them.
#include "base/secrets.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace muster {
namespace {

/// True when `part` occurs in the name as a word: "TOKENIZER" and "MAX_TOKENS" are about language, not about access.
bool names_part(std::string_view upper, std::string_view part) {
  std::size_t at = upper.find(part);
  const auto goes_on = [&] {
    const std::size_t end = at + part.size();
    return part == "TOKEN" && end < upper.size() && upper[end] >= 'A' && upper[end] <= 'Z';
  };
  while (at != std::string_view::npos && goes_on()) {
    at = upper.find(part, at + 1);
  }
  return at != std::string_view::npos;
}

/// Words beside TOKEN that mean a piece of a model's text: --moe-token-dispatcher-type, PAD_TOKEN.
bool is_about_language(const std::string& upper) {
  static constexpr auto kWords = std::to_array<std::string_view>(
      {"AUDIO",  "BOS",         "CLS",  "COUNT",   "DISPATCHER", "DROP", "DROPPING", "EMBEDDING", "EOS", "IMAGE",
       "LENGTH", "LEVEL",       "LOSS", "MASK",    "MAX",        "MIN",  "MOE",      "NUM",       "PAD", "PADDING",
       "PER",    "PLACEHOLDER", "SEP",  "SPECIAL", "TYPE",       "UNK",  "VIDEO",    "VISION"});
  const std::vector<std::string> words = split(upper, '_');
  return std::ranges::any_of(words, [](const std::string& word) { return contains(kWords, word); });
}

/// True if the words before KEY mean a key in a data set or a checkpoint: --checkpoint_key teacher, --image_key.
bool is_key_of_data(const std::vector<std::string>& words) {
  static constexpr auto kWords = std::to_array<std::string_view>(
      {"AUDIO", "CAPTION",  "CHECKPOINT", "CKPT",  "COLUMN",   "DATA",   "DICT",      "FEATURE",  "FOREIGN", "IMAGE",
       "INDEX", "INPUT",    "LABEL",      "MODEL", "NEGATIVE", "OUTPUT", "PARTITION", "POSITIVE", "PRIMARY", "PROMPT",
       "QUERY", "RESPONSE", "SAMPLE",     "SORT",  "STATE",    "TARGET", "TEXT",      "VIDEO"});
  return words.size() > 1 && contains(kWords, words[words.size() - 2]);
}

/// True if the value is the path of a secret, and not the secret: --token-file, SECRET_DIR.
bool names_secret_file(const std::string& upper) {
  return upper.ends_with("_FILE") || upper.ends_with("_PATH") || upper.ends_with("_DIR");
}

/// True for a word between underscores that means a secret: WANDB_KEY, but not KEY_DIM; S3_ENDPOINT, SCC_...,
/// CRED_... (names of ModelArts).
bool has_secret_word(const std::string& upper) {
  const std::vector<std::string> words = split(upper, '_');
  return (words.size() > 1 && words.back() == "KEY" && !is_key_of_data(words)) ||
         std::ranges::any_of(words, [](const std::string& word) {
           return word == "S3" || word == "SCC" || word == "CRED" || word == "CREDS";
         });
}

}  // namespace

bool is_secret_name(std::string_view name) {
  static constexpr auto kParts =
      std::to_array<std::string_view>({"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY",
                                       "API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "AUTHORIZATION"});
  const std::string upper = to_upper(name);
  const auto has_part = [&](std::string_view part) {
    return names_part(upper, part) && (part != "TOKEN" || !is_about_language(upper));
  };
  const bool is_header = upper == "COOKIE" || upper == "__COOKIE" || upper == "SET_COOKIE";
  return !names_secret_file(upper) && (is_header || std::ranges::any_of(kParts, has_part) || has_secret_word(upper));
}

namespace {

constexpr const char* kMasked = "***";
constexpr std::size_t kMostNameBytes = 128;  ///< of a secret

}  // namespace

std::string masked(std::string_view name, const std::string& value) {
  if (is_secret_name(name)) {
    return kMasked;
  }
  std::string text = value;
  for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at + 1)) {
    const std::size_t before = at == 0 ? std::string::npos : text.find_last_of("@/, \t\n", at - 1);
    const std::size_t start = before == std::string::npos ? 0 : before + 1;
    const bool is_behind_scheme = start >= 3 && text.compare(start - 3, 3, "://") == 0;
    const bool has_password = std::string_view(text).substr(start, at - start).find(':') != std::string_view::npos;
    const bool is_digest = text.compare(at, 8, "@sha256:") == 0;  // of an image
    if (start < at && !is_digest && (is_behind_scheme || has_password)) {
      text.replace(start, at - start, kMasked);
      at = start + 3;
    }
  }
  return text;
}

namespace {

/// The name at the end of JSON or of options between commas: pad_token of {"lr":1,"pad_token":
std::string name_at_end(std::string_view word) {
  const std::string_view name = word.substr(0, word.find_last_not_of(":=\"'") + 1);
  return std::string(name.substr(name.find_last_of("\"'{,") + 1));
}

/// `is_secret_name` for a name with hyphens.
bool names_secret(std::string name) {
  std::ranges::replace(name, '-', '_');
  return is_secret_name(name);
}

/// True for an option whose value may be the next word: not for --no-token.
bool takes_value(std::string_view word) {
  return word.starts_with('-') && !word.starts_with("--no-") && !word.starts_with("--no_");
}

/// True for a word before the secret in an Authorization header, such as "Bearer".
bool is_scheme(std::string_view word) {
  constexpr auto kSchemes =
      std::to_array<std::string_view>({"APIKEY", "BASIC", "BEARER", "DIGEST", "NEGOTIATE", "TOKEN"});
  return contains(kSchemes, to_upper(word));
}

/// True if a value follows the text, and the name at its end is a secret's: --password, password=, "token":
bool announces_secret(std::string_view text) {
  text = text.substr(text.size() - std::min(text.size(), kMostNameBytes));
  const std::string_view before = trim(text);
  const std::string_view word = before.substr(before.find_last_of(" \t") + 1);
  const bool is_behind_blank = before.size() < text.size();
  const bool announces = word.ends_with(':') || (is_behind_blank ? takes_value(word) : word.ends_with('='));
  return announces && names_secret(name_at_end(word));
}

/// The end of a word in quotes, as a shell reads it. A quote that nobody closes reaches to the end of the line.
std::size_t end_of_quoted(std::string_view line, std::size_t at) {
  char quote = '\0';
  for (; at < line.size() && (quote != '\0' || line[at] != ' '); ++at) {
    if (line[at] == '\\' && quote != '\'') {
      ++at;
    } else if (line[at] == quote) {
      quote = '\0';
    } else if (quote == '\0' && (line[at] == '"' || line[at] == '\'')) {
      quote = line[at];
    }
  }
  return std::min(at, line.size());
}

/// Masks secrets in quotes; they may contain blanks.
std::string masked_quotes(std::string_view line) {
  std::string text;
  std::size_t copied = 0;
  std::size_t at = line.find_first_of("\"'");
  while (at != std::string_view::npos) {
    std::size_t end = at + 1;
    const bool may_begin = end < line.size() && line[end] != ' ';
    if (may_begin && announces_secret(line.substr(copied, at - copied))) {
      end = end_of_quoted(line, at);
      text.append(line, copied, at - copied).append(kMasked);
      copied = end;
    }
    at = line.find_first_of("\"'", end);
  }
  return text.append(line, copied);
}

/// True for the signature in a signed address, because the signature grants the access.
bool is_signature(std::string_view name) {
  const std::string upper = to_upper(name);
  return upper == "SIG" || upper.ends_with("SIGNATURE");
}

/// Masks secrets within the word: the x of TOKEN=x, ?id=1&token=x and Server=s;Password=x. The time is proportional
/// to the word's length.
std::string masked_values(std::string_view word) {
  std::string text;
  std::size_t copied = 0;
  for (std::size_t at = word.find('='); at != std::string_view::npos; at = word.find('=', std::max(at + 1, copied))) {
    const std::size_t least = std::max(copied, at - std::min(at, kMostNameBytes));
    const std::size_t separator = word.substr(least, at - least).find_last_of("?&; \t\n");
    const bool is_inside = separator != std::string_view::npos;
    const std::size_t begin = is_inside ? least + separator + 1 : least;
    const std::string_view name = word.substr(begin, at - begin);
    const bool is_parameter = is_inside && (word[begin - 1] == '?' || word[begin - 1] == '&');
    if (names_secret(std::string(name)) || (is_parameter && is_signature(name))) {
      const std::size_t end = is_inside ? word.find_first_of("&; \t\n", at) : std::string_view::npos;
      text.append(word, copied, at + 1 - copied).append(kMasked);
      copied = std::min(end, word.size());
    }
  }
  return text.append(word, copied);
}

/// Masks the words of one line.
std::vector<std::string> masked_in_line(std::vector<std::string> words) {
  bool is_value = false;  // true: the word before names a secret, and this one is its value
  for (std::string& word : words) {
    if (word.empty()) {
      continue;  // between two blanks
    }
    const std::size_t colon = word.starts_with("-H") ? word.find(':') : std::string::npos;
    if (!is_value && colon < word.size() - 1 && names_secret(word.substr(2, colon - 2))) {  // -HAuthorization:x
      is_value = is_scheme(word.substr(colon + 1));
      word.replace(colon + 1, std::string::npos, kMasked);
      continue;
    }
    const bool announces = word.find('=') == std::string::npos && announces_secret(word + " ");
    const bool is_masked = is_value && !word.starts_with("--");
    is_value = announces || (is_masked && (is_scheme(word) || word.ends_with(';')));  // the next of several cookies
    word = is_masked ? kMasked : masked_values(word);
  }
  return words;
}

std::string masked_text(std::string_view line) {
  return masked("", join(masked_in_line(split(masked_quotes(line), ' ')), " "));
}

}  // namespace

std::vector<std::string> masked_words(std::vector<std::string> words) {
  words = masked_in_line(std::move(words));
  std::ranges::transform(words, words.begin(), masked_text);  // also splits a word that is a script, a header or JSON
  return words;
}

std::string masked_line(std::string_view line, std::size_t most) {
  return one_line(masked_text(line), most);
}

}  // namespace muster
