"""The configuration of the studio. Needs no TensorFlow, so that `--help` answers at once."""

import dataclasses
import os

from anchornet_tf.features.registry import DESCRIPTORS
from anchornet_tf.matchers.registry import MATCHERS
from anchornet_tf.utils.config_fields import option

# What the page offers: descriptors that need no further options, and matchers that find something.
# These need a class or a file of their own.
_NEED_MORE = ("anchornet-class", "constellation-hc", "constellation-bp", "litert")
OFFERED_DESCRIPTORS = tuple(name for name in DESCRIPTORS.names if name not in _NEED_MORE)
OFFERED_MATCHERS = tuple(name for name in MATCHERS.names if name != "none")
_LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")
_MEGABYTE = 2**20


@dataclasses.dataclass(frozen=True)
class StudioConfig:
    """What to show, where, and within which limits.

    The help text of each field describes it; `python -m anchornet_tf.studio --help` shows them all.

    Raises:
        ValueError: If a value is out of its range.
    """

    host: str = option(
        "127.0.0.1",
        "The address to listen on. Any other than this machine's own can be reached by others: "
        "then the page's address holds a token, without which nothing is answered.",
    )
    port: int = option(8642, "The port to listen on; 0 for any that is free.")
    open: bool = option(True, "Open the page in the browser.")
    features: str = option(
        "anchornet", "The descriptor to begin with.", choices=OFFERED_DESCRIPTORS
    )
    matcher: str = option("hough", "The matcher to begin with.", choices=OFFERED_MATCHERS)
    model: str | os.PathLike | None = option(
        None, "Folder of an AnchorNet or name of a preset, for the descriptor anchornet."
    )
    server: str | None = option(
        None,
        "HOST:PORT (gRPC) or http://HOST:PORT (REST) of a TensorFlow Serving that has an exported "
        "model: it describes and matches in place of this machine.",
    )
    recursive: bool = option(False, "Also take the images in sub-folders of the folder.")
    max_upload: int = option(32, "The largest file that may be dropped on the page, in MB.")
    max_images: int = option(500, "The most images, those of the folder and dropped ones together.")
    max_pixels: int | None = option(
        None,
        "Images of more pixels are refused before they are decoded; 0 for 67,108,864, or what the "
        "environment variable ANCHORNET_MAX_PIXELS says.",
        none=0,
    )
    memory: int = option(1024, "How much to keep of what was computed, in MB.")

    def __post_init__(self):
        for name, least, most in (
            ("port", 0, 65535),
            ("max_upload", 1, 1024),
            ("max_images", 2, 100_000),
            ("memory", 16, 10**6),
        ):
            if not least <= getattr(self, name) <= most:
                raise ValueError(
                    f"`{name}` must be from {least} to {most}. Received: {getattr(self, name)}"
                )

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the page."""
        return self.host in _LOCAL_HOSTS

    @property
    def upload_bytes(self) -> int:
        """The largest upload in bytes."""
        return self.max_upload * _MEGABYTE

    @property
    def memory_bytes(self) -> int:
        """The bytes to keep of what was computed."""
        return self.memory * _MEGABYTE
