"""The flags of programs that measure descriptors and matchers on annotated pairs."""

from collections.abc import Iterator

from absl import flags

from anchornet_tf.datasets.annotated.registry import BENCHMARKS
from anchornet_tf.features.registry import DESCRIPTORS
from anchornet_tf.matchers.registry import MATCHERS
from anchornet_tf.utils.named_options import parse_option

# The flags belong to the program that calls `define`, so that its --help shows them.
flags.disclaim_key_flags()


class TrialFlags:
    """Which pairs are matched, and by what; made by `define`."""

    def __init__(self):
        self._benchmark = flags.DEFINE_enum(
            "benchmark", "parts_world", BENCHMARKS.names, "Which pairs."
        )
        self._data_dir = flags.DEFINE_string("data_dir", None, "Folder of the benchmark.")
        self._subset = flags.DEFINE_string("subset", None, "tune or report: a half of pf_willow.")
        self._features = flags.DEFINE_list("features", ["anchornet"], "Descriptors.")
        self._matcher = flags.DEFINE_list("matcher", ["hough"], "Matchers.")
        self._model = flags.DEFINE_string(
            "model", None, "Folder or preset, for --features=anchornet."
        )
        self._limit = flags.DEFINE_integer(
            "limit", 0, "At most this many pairs; 0 for all.", lower_bound=0
        )
        self._num_pairs = flags.DEFINE_integer(
            "num_pairs", 20, "Pairs of each class of parts_world."
        )
        self._seed = flags.DEFINE_integer("seed", 0, "Seed of the pairs that are drawn.")
        self._option = flags.DEFINE_multi_string(
            "option",
            [],
            "NAME=VALUE, an option of the descriptor or the matcher. May be repeated.",
        )

    def check(self) -> None:
        """Checks what can be checked without TensorFlow.

        Raises:
            ValueError: If a descriptor or matcher has no such name, or an option no value.
        """
        for flag, kind in ((self._features, DESCRIPTORS), (self._matcher, MATCHERS)):
            if not flag.value:
                raise ValueError(
                    f"--{flag.name} must be some of {', '.join(kind.names)}. Received: nothing"
                )
            for name in flag.value:
                kind.check(name)
        self._options()

    def read(self):
        """Returns the `Benchmark`."""
        options = {"subset": self._subset.value} if self._subset.value else {}
        if self._benchmark.value == "parts_world":
            options |= {"num_pairs": self._num_pairs.value, "seed": self._seed.value}
        benchmark = BENCHMARKS.create(
            self._benchmark.value, data_dir=self._data_dir.value, **options
        )
        limit = self._limit.value
        return benchmark.limited(limit, self._seed.value) if limit else benchmark

    def methods(self) -> Iterator[tuple[str, object]]:
        """Yields a `Matcher` for each descriptor and matcher, with its name."""
        from anchornet_tf.matchers.matcher import Matcher

        for features in self._features.value:
            given = self._model.value and features == "anchornet"
            model = {"model": self._model.value} if given else {}
            for name in self._matcher.value:
                matcher = Matcher(features, name, **self._options(), **model)
                yield f"{name} + {features}", matcher

    def _options(self) -> dict:
        return dict(parse_option(text) for text in self._option.value)


def define() -> TrialFlags:
    """Defines the flags, for the program that calls it."""
    return TrialFlags()
