"""Beam's own options: what follows `--` in the commands of a corpus."""

import logging
import os
from collections.abc import Sequence

from anchornet_tf.corpus.extras import need

_WORKERS = "direct_num_workers"
_MODE = "direct_running_mode"
# Workers share a machine by being several. Threads of TensorFlow inside them would fight for its
# cores, and results would depend on their number in the last bits.
_ONE_THREAD = {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}


def pipeline_options(arguments: Sequence[str], workers: int | None = None):
    """Returns Beam's options.

    Args:
        arguments: Such as `["--runner=FlinkRunner", "--parallelism=64"]`.
        workers: int. Processes on this machine, for the runner that Beam takes if none is named.

    Raises:
        ImportError: If Beam is not installed.
        ValueError: If Beam has no such option.
    """
    options = need("apache_beam.options.pipeline_options")
    arguments = list(arguments)
    known = options.PipelineOptions([]).get_all_options()
    for argument in arguments:
        name = argument.removeprefix("--").split("=")[0].removeprefix("no_")
        if argument.startswith("--") and name not in known and not _of_a_runner(options, name):
            raise ValueError(f"Expected an option of Apache Beam after --. Received: {argument}")
    given = {argument.removeprefix("--").split("=")[0] for argument in arguments}
    level = "WARNING"
    if workers is not None and not given & {_WORKERS, "runner"}:
        # What goes wrong here is raised here too: it need not be said twice.
        level = "CRITICAL"
        arguments += [f"--{_WORKERS}={workers}"]
        if workers > 1 and _MODE not in given:
            arguments += [f"--{_MODE}=multi_processing"]
    if "default_sdk_harness_log_level" not in given:
        arguments += [f"--default_sdk_harness_log_level={level}"]
    return options.PipelineOptions(arguments)


def _of_a_runner(options, name: str) -> bool:
    """Tells whether some class of options that Beam has loaded defines a name."""
    parser = options._BeamArgumentParser(allow_abbrev=False)
    for kind in options.PipelineOptions.__subclasses__():
        try:
            kind._add_argparse_args(parser)
        except Exception:
            continue
    return any(f"--{name}" in action.option_strings for action in parser._actions)


def one_thread() -> None:
    """Lets TensorFlow use one thread in this process and in those that it starts.

    Only works before TensorFlow is imported; what the user has set wins.
    """
    for name, value in _ONE_THREAD.items():
        os.environ.setdefault(name, value)


def quiet() -> None:
    """Leaves out Beam's notes on cloud packages, and tracebacks of what is raised anyway."""
    logging.getLogger().setLevel(logging.ERROR)
    for name in ("apache_beam", "grpc"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
