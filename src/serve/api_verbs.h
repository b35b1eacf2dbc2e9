// Parts of requests, and verbs of the command line that answer them in processes of their own.
#pragma once

#include <string>
#include <vector>

#include "measure/recipe.h"
#include "serve/api.h"

namespace ampere {

// The network that a request names. Throws HttpError{404}, and MustWait where it has to be read and may not
// be.
ServedNetworkPtr network_of(Api& api, const ApiCall& call);
Recipe recipe_of(const Json& body);
// A parameter of the address.
std::string parameter(const ApiCall& call, const std::string& name, const std::string& otherwise = "");

// Fields of a request as options of the command line, where they are given: "multiple_of" as "--multiple-of".
void put_options(std::vector<std::string>& words, const Json& body, const std::vector<std::string>& fields);
void put_recipe(std::vector<std::string>& words, const Json& body);

// What a verb says of one network, with the store, the batch and the recipe of the request. Throws as
// run_limited().
Json told_by_verb(Api& api, const std::string& verb, std::vector<std::string> words,
                  const ServedNetwork& network, const Json& body);

}  // namespace ampere
