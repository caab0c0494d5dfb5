// Loads a SavedModel with tensorflow::LoadSavedModel, as TensorFlow Serving does, and runs its
// signatures.
//
//   run_saved_model MODEL INPUTS OUTPUTS
//
// INPUTS holds one file SIGNATURE.INPUT.pb, a serialized TensorProto, per input of each signature
// to run. Each output is written to OUTPUTS/SIGNATURE.OUTPUT.pb. Signatures without input files are
// skipped.

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "tensorflow/cc/saved_model/loader.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow/core/platform/env.h"
#include "tensorflow/core/protobuf/meta_graph.pb.h"
#include "tensorflow/core/public/session.h"

namespace {

using tensorflow::Env;
using tensorflow::Tensor;
using tensorflow::TensorProto;

// The wheel leaves out the header that names the tag.
constexpr char kServe[] = "serve";

std::string PathOf(const std::string& folder, const std::string& signature,
                   const std::string& tensor) {
  return folder + "/" + signature + "." + tensor + ".pb";
}

// Returns the number of files that were found, or -1 if one of them cannot be read.
int ReadInputs(const std::string& folder, const std::string& name,
               const tensorflow::SignatureDef& signature,
               std::vector<std::pair<std::string, Tensor>>* inputs) {
  for (const auto& input : signature.inputs()) {
    const std::string path = PathOf(folder, name, input.first);
    if (!Env::Default()->FileExists(path).ok()) continue;
    TensorProto proto;
    Tensor tensor;
    if (!ReadBinaryProto(Env::Default(), path, &proto).ok() || !tensor.FromProto(proto)) {
      std::fprintf(stderr, "Expected a serialized TensorProto. Received: %s\n", path.c_str());
      return -1;
    }
    inputs->emplace_back(input.second.name(), tensor);
  }
  return static_cast<int>(inputs->size());
}

bool RunSignature(tensorflow::Session* session, const std::string& name,
                  const tensorflow::SignatureDef& signature,
                  const std::vector<std::pair<std::string, Tensor>>& inputs,
                  const std::string& folder) {
  std::vector<std::string> keys, fetches;
  for (const auto& output : signature.outputs()) {
    keys.push_back(output.first);
    fetches.push_back(output.second.name());
  }
  std::vector<Tensor> results;
  const auto status = session->Run(inputs, fetches, {}, &results);
  if (!status.ok()) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), status.ToString().c_str());
    return false;
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    TensorProto proto;
    results[i].AsProtoField(&proto);  // Not as raw bytes: NumPy cannot read those of strings.
    const auto written = WriteBinaryProto(Env::Default(), PathOf(folder, name, keys[i]), proto);
    if (!written.ok()) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), written.ToString().c_str());
      return false;
    }
    std::printf("%s.%s %s\n", name.c_str(), keys[i].c_str(),
                results[i].shape().DebugString().c_str());
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "Expected run_saved_model MODEL INPUTS OUTPUTS. Received: %d arguments\n",
                 argc - 1);
    return 2;
  }
  tensorflow::SavedModelBundle bundle;
  const auto loaded = tensorflow::LoadSavedModel(
      tensorflow::SessionOptions(), tensorflow::RunOptions(), argv[1], {kServe}, &bundle);
  if (!loaded.ok()) {
    std::fprintf(stderr, "%s\n", loaded.ToString().c_str());
    return 1;
  }
  bool good = true;
  for (const auto& entry : bundle.GetSignatures()) {
    std::vector<std::pair<std::string, Tensor>> inputs;
    const int found = ReadInputs(argv[2], entry.first, entry.second, &inputs);
    if (found < 0) return 1;
    // The others run even if one signature fails, as they would in a server.
    if (found > 0) {
      good &= RunSignature(bundle.GetSession(), entry.first, entry.second, inputs, argv[3]);
    }
  }
  return good ? 0 : 1;
}
