// A small data set on disk: 8 x 8 images of horizontal or vertical stripes, with noise.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace ampere::worker {

inline void write_idx(const std::string& path, const std::vector<std::int64_t>& dims,
                      const std::vector<std::uint8_t>& values) {
  std::ofstream out(path, std::ios::binary);
  const auto byte = [&](std::int64_t b) { out.put(static_cast<char>(b & 255)); };
  for (std::int64_t b : {0, 0, 8, static_cast<int>(dims.size())}) byte(b);
  for (std::int64_t d : dims) {
    for (int shift : {24, 16, 8, 0}) byte(d >> shift);
  }
  for (std::uint8_t v : values) byte(v);
}

inline void write_stripes(const std::string& folder, std::int64_t train, std::int64_t test) {
  std::filesystem::create_directories(folder);
  std::mt19937 random(1);
  const auto one = [&](const std::string& prefix, std::int64_t count) {
    std::vector<std::uint8_t> images, labels;
    for (std::int64_t i = 0; i < count; ++i) {
      labels.push_back(static_cast<std::uint8_t>(i % 2));
      for (int p = 0; p < 64; ++p) {
        const int line = i % 2 == 0 ? p / 8 : p % 8;
        images.push_back(static_cast<std::uint8_t>(random() % 80 + (line % 2 == 0 ? 170 : 0)));
      }
    }
    write_idx(folder + "/" + prefix + "-images-idx3-ubyte", {count, 8, 8}, images);
    write_idx(folder + "/" + prefix + "-labels-idx1-ubyte", {count}, labels);
  };
  one("train", train);
  one("t10k", test);
}

}  // namespace ampere::worker
