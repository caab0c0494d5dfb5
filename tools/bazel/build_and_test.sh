#!/usr/bin/env bash
# Builds every target and runs some of the tests with Debian's Bazel 4 (apt-get install
# bazel-bootstrap), without a network: what Bazel would fetch is replaced by tools/bazel/offline.
# Other tests can be named as arguments:
#     bash tools/bazel/build_and_test.sh //tests/matchers/...
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v bazel >/dev/null || {
    echo "Expected Bazel (Debian: apt-get install bazel-bootstrap). Received: no bazel in PATH" >&2
    exit 1
}

tests=(
    //tests/datasets:voc_classes_test  # reads a JSON file of the package
    //tests/features:hog_background_test  # reads an .npz file of the package
    //tests/layers:equalizer_test
    //tests:match_test  # a program in a process of its own
    //tests/metrics/...
    //tests/trunks:pca_test  # reads an .npz file as a resource of its package
    //tests/utils/...
)
options=()
for repository in tools/bazel/offline/*; do
    options+=("--override_repository=$(basename "$repository")=$PWD/$repository")
done

export PATH="$PWD/.venv/bin:$PATH"
export PYTEST_ADDOPTS="-m 'not slow and not tfa'"
trap "bazel shutdown" EXIT
bazel build "${options[@]}" //...
bazel test "${options[@]}" --test_env=PYTEST_ADDOPTS "${@:-${tests[@]}}"
