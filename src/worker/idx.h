// Data sets in the IDX format, plain or gzipped: MNIST, Fashion-MNIST and their kin. Knows nothing of
// LibTorch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ampere::worker {

struct IdxArray {
  std::vector<std::int64_t> dims;
  std::vector<std::uint8_t> values;
};

// `path` or `path`.gz. Throws Error{kBadInput} that names the file and what is wrong with it.
IdxArray read_idx(const std::string& path);

// Images and labels for training and for testing, by the names that MNIST gave them: train-images-idx3-ubyte,
// train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte.
struct ImageSet {
  IdxArray images;  // count, height, width
  IdxArray labels;  // count
};
struct ImageData {
  ImageSet train, test;
  std::int64_t classes = 0;  // labels are below this
};
ImageData read_image_data(const std::string& folder);

}  // namespace ampere::worker
