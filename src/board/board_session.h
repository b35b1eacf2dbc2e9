// A simulated board behind the worker protocol (docs/protocol.md): it trains nothing, and answers what its
// layers cost, measured by the windows and the counter that a real board would have.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "board/board.h"
#include "board/recorded_costs.h"
#include "measure/request.h"
#include "protocol/messages.h"

namespace ampere {

struct BoardOptions {
  bool blind = false;  // it tells neither clock nor temperature
};

class BoardSession {
 public:
  BoardSession(Board board, RecordedCosts costs, BoardOptions options = {});
  // One line to one line.
  std::string answer(const std::string& line);
  bool ended() const { return ended_; }

 private:
  struct Step {
    double seconds = 0, load = 0;
  };
  Json dispatch(const Request& request);
  Json detect() const;
  Json idle(const Json& params);
  Json measure(const Json& params);
  Step step_of(const MeasureRequest& request);

  Board board_;
  RecordedCosts costs_;
  std::map<std::tuple<std::string, std::string, Channels>, RecordedCost> seen_;
  BoardOptions options_;
  std::optional<MeterCharacter> character_;
  bool ended_ = false;
};

}  // namespace ampere
