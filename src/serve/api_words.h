// Errors in the words of the API: the library and the verbs speak of options of the command line, and of
// files that are none of a stranger's business.
#pragma once

#include <string>
#include <vector>

namespace ampere {

struct ApiWords {
  std::string text;
  std::vector<std::string> fields;  // of requests, that the text is about
};

// "--multiple-of" becomes "multiple_of" where requests have such a field. What is about other options is for
// whoever started the server, and left out. Of paths the last part is left.
ApiWords in_api_words(const std::string& text);

}  // namespace ampere
