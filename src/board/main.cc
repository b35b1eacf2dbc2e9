// simulated-board: a worker for a board that is not there (docs/boards_realities.md).
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/error.h"
#include "board/board_session.h"

namespace {

constexpr const char* kHelp =
    "usage: simulated-board --board NAME [--boards FILE] [--points FILE,FILE] [--tick S] [--resolution W]\n"
    "                       [--ambient C] [--blind] [--seed N] [--recorded RECIPE]\n"
    "\n"
    "A worker of AMPERE whose device is simulated: layers cost what was recorded of them on a real one, "
    "scaled; power,\n"
    "heat, clocks and counter are those of a published board. Run it in the checkout:\n"
    "  ampere profile cnn5 --batch 10 --worker \"simulated-board --board jetson-tx2\"\n";

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) out.push_back(part);
  return out;
}

int serve(int argc, char** argv) {
  std::string board = "jetson-tx2", boards = "data/boards.json";
  std::string points =
      "results/h200/points_families.csv,results/h200/points.csv,results/h200/points_families_9008.csv";
  double tick_s = 0, resolution_w = -1, ambient_c = -300;
  std::string recorded = "sgd-fp32-autotune-t1";
  unsigned seed = 1;
  ampere::BoardOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--help") return std::fputs(kHelp, stdout) < 0;
    if (name == "--blind") {
      options.blind = true;
      continue;
    }
    if (i + 1 >= argc) throw ampere::bad_input("unknown argument or missing value: " + name);
    const std::string value = argv[++i];
    if (name == "--board")
      board = value;
    else if (name == "--boards")
      boards = value;
    else if (name == "--points")
      points = value;
    else if (name == "--tick")
      tick_s = std::stod(value);
    else if (name == "--resolution")
      resolution_w = std::stod(value);
    else if (name == "--ambient")
      ambient_c = std::stod(value);
    else if (name == "--recorded")
      recorded = value;
    else if (name == "--seed")
      seed = static_cast<unsigned>(std::stoul(value));
    else
      throw ampere::bad_input("unknown argument " + name);
  }
  std::ifstream file(boards);
  if (!file)
    throw ampere::bad_input(boards + ": cannot be read; run it in the checkout, or name it with --boards");
  std::ostringstream text;
  text << file.rdbuf();
  ampere::BoardSheet sheet = ampere::find_board(ampere::parse_json(text.str(), boards), board);
  if (tick_s > 0) sheet.tick_s = tick_s;
  if (resolution_w >= 0) sheet.resolution_w = resolution_w;
  if (ambient_c > -273) sheet.ambient_c = ambient_c;
  ampere::BoardSession session(ampere::Board(sheet, seed), ampere::RecordedCosts(split(points), recorded),
                               options);
  for (std::string line; !session.ended() && std::getline(std::cin, line);)
    std::cout << session.answer(line) << "\n" << std::flush;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return serve(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "simulated-board: %s\n", e.what());
    return 2;
  }
}
