#!/usr/bin/env bash
# Builds run_saved_model against the libraries inside the TensorFlow wheel of an environment.
#
#   bash export/cpp/build.sh PYTHON OUTPUT
set -euo pipefail

if [[ $# -ne 2 ]]; then
  echo "build.sh: expected PYTHON OUTPUT. Received: $*" >&2
  exit 2
fi
source_folder="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# TensorFlow is found without being imported, which would take seconds.
wheel="$("$1" -c 'import importlib.util as u, os
print(os.path.dirname(u.find_spec("tensorflow").origin))')"
# --no-as-needed keeps the library, whose kernels register when it is loaded: nothing calls it.
g++ -std=c++17 -O1 -w "${source_folder}/run_saved_model.cc" -o "$2" \
  -I"${wheel}/include" -L"${wheel}" -Wl,-rpath,"${wheel}" \
  -Wl,--no-as-needed -l:libtensorflow_cc.so.2 -l:libtensorflow_framework.so.2
