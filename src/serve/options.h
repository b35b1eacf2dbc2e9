// What `ampere serve` is told.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace ampere {

// What strangers may take. Sizes in bytes, times in seconds.
struct ServeLimits {
  std::uint64_t header_bytes = 16 << 10;
  std::uint64_t body_bytes = 1 << 20;       // of requests in JSON
  std::uint64_t upload_bytes = 512u << 20;  // of network files
  std::uint64_t kept_bytes = 4ull << 30;    // of network files that are kept; the oldest go
  double request_s = 60;                    // to send a whole request, and for each response to be taken
  double header_s = 10;                     // of which to send its headers
  double idle_s = 75;                       // between two requests
  int connections = 1024;
  int uploads = 4;        // at a time
  int waiting = 512;      // requests that wait for a thread
  double compute_s = 20;  // of a processor, for what is computed within the server
  // Of each process that imports, prunes, tunes or plans.
  std::uint64_t child_bytes = 8ull << 30;  // address space; LibTorch maps gigabytes before it does anything
  double child_s = 120;
  int children = 2;  // at a time
};

struct ServeOptions {
  std::string bind = "127.0.0.1";
  int port = 8080;  // 0: any free one
  std::string token = {};
  bool read_only = false;
  std::string store = {};
  std::string state = {};               // folder of uploads and jobs; empty: none is kept
  std::string worker = {};              // command that profiles; empty: nothing can be profiled
  std::string meter = {};               // of profiling; empty: the worker's default
  std::string program = {};             // ampere itself, for processes of their own
  std::vector<std::string> hosts = {};  // names that this server is also reached by
  std::vector<int> cores = {};          // that answer; empty: all, and fewer while a job measures
  double refresh_s = 10;                // so soon at most are new points of the store looked at; 0: always
  ServeLimits limits = {};
  const std::atomic<bool>* ending = nullptr;  // once it is true, processes are ended; null: never
};

}  // namespace ampere
