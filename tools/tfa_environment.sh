#!/usr/bin/env bash
# Builds .venv-tfa, the environment in which tensorflow-addons still imports, beside .venv.
#
# tensorflow-addons 0.23.0 needs Keras 2 and fails on import beside TensorFlow >= 2.16, so it never
# shares an environment with the package: the tests marked `tfa` run it as a separate process.
# Does nothing when the environment was already built from the same requirements.
set -euo pipefail

repository="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
environment="${repository}/.venv-tfa"
requirements="${repository}/tools/tfa-requirements.txt"
stamp="${environment}/.requirements-stamp"
python="${PYTHON:-python3.11}"

if [[ -x "${environment}/bin/python" ]] && cmp --silent "${requirements}" "${stamp}"; then
  exit 0
fi

if ! command -v "${python}" >/dev/null; then
  echo "tfa_environment: ${python} was not found; TensorFlow 2.15 needs Python 3.9 to 3.11" >&2
  exit 1
fi

echo "tfa_environment: building ${environment} (1.3 GB on disk, a few minutes)"
# A half-built environment has no stamp, so it is always rebuilt from nothing.
rm -rf "${environment}"
"${python}" -m venv "${environment}"
"${environment}/bin/pip" install --quiet --disable-pip-version-check -r "${requirements}"
TF_CPP_MIN_LOG_LEVEL=3 "${environment}/bin/python" -W ignore -c "import tensorflow_addons" \
  || { echo "tfa_environment: tensorflow-addons does not import" >&2; exit 1; }
cp "${requirements}" "${stamp}"
echo "tfa_environment: ready"
