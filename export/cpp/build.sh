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
# Found without importing it, which takes seconds.
wheel="$("$1" -c 'import importlib.util as u, os; print(os.path.dirname(u.find_spec("tensorflow").origin))')"
# The library registers its kernels when it is loaded, though nothing here calls them: keep it.
g++ -std=c++17 -O1 -w "${source_folder}/run_saved_model.cc" -o "$2" \
  -I"${wheel}/include" -L"${wheel}" -Wl,-rpath,"${wheel}" \
  -Wl,--no-as-needed -l:libtensorflow_cc.so.2 -l:libtensorflow_framework.so.2
