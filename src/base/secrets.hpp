#pragma once

// Finds secrets by their names, and masks them in what is printed or kept: names of variables, options and headers.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// True for names whose values are never shown: tokens, secrets, passwords, keys, credentials, in any case. False for
/// "TOKENIZER", "MAX_TOKENS" and "PAD_TOKEN".
bool is_secret_name(std::string_view name);

/// The value, or "***" where `name` is a secret's. In "name:password@host" and "://name@host" the part before the
/// host is masked.
std::string masked(std::string_view name, const std::string& value);

/// Words of a command line with masked secrets: the x of "--api-token=x", "TOKEN=x" and "wandb.api_key=x", and the word
/// behind "--password" or "password:", unless it begins with "--". A word may be a script, a header, a URL or JSON.
std::vector<std::string> masked_words(std::vector<std::string> words);

/// `one_line` of a program's output: words, and secrets in quotes, are masked as in a command line, and values by `masked`.
std::string masked_line(std::string_view line, std::size_t most);

}  // namespace muster
