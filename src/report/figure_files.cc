#include "report/figure_files.h"

#include <duktape.h>

#include <memory>
#include <string_view>

#include "base/error.h"
#include "report/assets.h"
#include "report/drawable.h"

namespace ampere {
namespace {

// A JavaScript engine with the chart library and our figures in it.
class Engine {
 public:
  Engine() : heap_(duk_create_heap_default(), duk_destroy_heap) {
    if (!heap_) throw Error(ErrorKind::kFailed, "no memory is left to draw figures");
    // The library finds its place by this name; a browser has it anyway.
    run("var self = this;");
    for (std::string_view program : {asset_draw(), asset_echarts(), asset_figures()}) run(program);
  }

  duk_context* context() const { return heap_.get(); }

  void run(std::string_view program) const {
    if (duk_peval_lstring(context(), program.data(), program.size()) != 0) fail();
    duk_pop(context());
  }

  // Calls a function with what was pushed; its result is on top afterwards.
  void call(int arguments) const {
    if (duk_pcall(context(), arguments) != 0) fail();
  }
  std::string text_of(const char* function, int index, int width = 0) const {
    duk_get_global_string(context(), function);
    duk_push_int(context(), index);
    duk_push_int(context(), width);
    call(2);
    duk_size_t size = 0;
    const char* text = duk_safe_to_lstring(context(), -1, &size);
    std::string out(text, size);
    duk_pop(context());
    return out;
  }

 private:
  [[noreturn]] void fail() const {
    const std::string why = duk_safe_to_stacktrace(context(), -1);
    duk_pop(context());
    throw Error(ErrorKind::kFailed, "a figure cannot be drawn: " + why);
  }

  std::unique_ptr<duk_context, decltype(&duk_destroy_heap)> heap_;
};

}  // namespace

void draw_figures(const Json& data, int width,
                  const std::function<void(int done, int of, const FigureFile&)>& take) {
  const Engine engine;
  const std::string text = drawable(data).dump(-1, ' ', false, Json::error_handler_t::replace);
  duk_get_global_string(engine.context(), "ampereRead");
  duk_push_lstring(engine.context(), text.data(), text.size());
  engine.call(1);
  const int count = duk_get_int(engine.context(), -1);
  duk_pop(engine.context());
  for (int i = 0; i < count; ++i) {
    take(i, count,
         {engine.text_of("ampereName", i), engine.text_of("ampereSvg", i, width),
          engine.text_of("ampereCsv", i)});
  }
}

}  // namespace ampere
