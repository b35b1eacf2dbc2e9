#include "worker/translate.h"

#include <c10/util/Exception.h>

#include <new>
#include <string>

namespace ampere::worker {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// LibTorch's CPU allocator throws a plain error; only its words tell it apart.
bool about_memory(const std::string& text) {
  for (const char* words : {"can't allocate memory", "not enough memory", "out of memory", "ALLOC_FAILED"}) {
    if (text.find(words) != std::string::npos) return true;
  }
  return false;
}

Error framework_error(const std::string& text) {
  const bool memory = about_memory(text);
  return {memory ? ErrorKind::kOutOfMemory : ErrorKind::kFailed, "training failed: " + first_line(text)};
}

}  // namespace

Error translate(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& e) {
    return e;
  } catch (const c10::OutOfMemoryError& e) {
    return {ErrorKind::kOutOfMemory, first_line(e.what_without_backtrace())};
  } catch (const c10::Error& e) {
    return framework_error(e.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return {ErrorKind::kOutOfMemory, "not enough memory for this request"};
  } catch (const std::exception& e) {
    return framework_error(e.what());
  } catch (...) {
    return {ErrorKind::kFailed, "training failed for a reason that cannot be told"};
  }
}

}  // namespace ampere::worker
