"""Everything that one running studio holds."""

import dataclasses
import os
from collections.abc import Sequence

from anchornet_tf.studio.config import StudioConfig
from anchornet_tf.studio.engine import Engine
from anchornet_tf.studio.library import Library


@dataclasses.dataclass(eq=False)
class Studio:
    """Images, what computes, jobs and the work of the user.

    Attributes:
        config: Its configuration.
        library: The images.
        engine: Descriptors and matchers.
    """

    config: StudioConfig
    library: Library
    engine: Engine

    @property
    def defaults(self) -> dict:
        """The descriptor and the matcher to begin with."""
        return {
            "descriptor": next(iter(self.engine.descriptors)),
            "matcher": next(iter(self.engine.matchers)),
        }

    def close(self) -> None:
        """Ends threads and removes dropped images."""
        self.engine.close()
        self.library.close()


def make_studio(
    config: StudioConfig,
    paths: Sequence[str | os.PathLike] = (),
    engine: Engine | None = None,
) -> Studio:
    """Makes a studio.

    Args:
        config: Its configuration.
        paths: A folder, or images; none for the drawn examples.
        engine: What computes; None for what the configuration says.

    Raises:
        ValueError: If there are no images at the paths, or the model does not exist.
    """
    library = Library(
        paths,
        recursive=config.recursive,
        max_images=config.max_images,
        max_upload=config.upload_bytes,
        max_pixels=config.max_pixels,
    )
    if engine is None:
        from anchornet_tf.studio.offers import descriptor_offers, matcher_offers

        engine = Engine(descriptor_offers(config), matcher_offers(config), config.memory_bytes)
    return Studio(config, library, engine)
