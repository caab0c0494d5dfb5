"""Speed and memory, as ratios measured in one run: `python -m benchmarks`."""

# Benchmarks run with the settings of trainings, which are made before TensorFlow is imported.
import trainers  # noqa: F401
