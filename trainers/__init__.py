"""Programs that train: thin binaries around the library."""

import os

# TensorFlow leaves oneDNN off on processors without AVX-512, where it still makes the trunk about 1.2 times
# and a step of a bank about 1.5 times as fast. It is read when TensorFlow is first imported.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
