"""Everything that one running studio holds."""

import dataclasses
import os
from collections.abc import Sequence

from anchornet_tf.studio.config import StudioConfig
from anchornet_tf.studio.engine import Engine
from anchornet_tf.studio.jobs import Jobs
from anchornet_tf.studio.library import Library
from anchornet_tf.studio.refusals import expected
from anchornet_tf.studio.transfers import Transfers
from anchornet_tf.studio.work import WorkFile

# Shares of the memory for what was computed; the engine has the rest.
_DECODED_SHARE, _RECORDS_SHARE = 0.125, 0.0625


@dataclasses.dataclass(eq=False)
class Studio:
    """Images, what computes, jobs and the work of the user.

    Attributes:
        config: Its configuration.
        library: The images.
        engine: Descriptors and matchers.
        transfers: What carries marks.
        jobs: Longer work.
        work: The user's marks and settings.
    """

    config: StudioConfig
    library: Library
    engine: Engine
    transfers: Transfers = dataclasses.field(init=False)
    jobs: Jobs = dataclasses.field(init=False)
    work: WorkFile = dataclasses.field(init=False)

    def __post_init__(self):
        records = int(self.config.memory_bytes * _RECORDS_SHARE)
        self.transfers = Transfers(self.library, self.engine, records)
        self.jobs = Jobs()
        self.work = WorkFile(self.library)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes whose filters can be looked at."""
        return () if self.engine.filters is None else self.engine.filters.classes

    def check_class(self, name) -> None:
        """Raises a `Refusal` for a class without filters."""
        if not self.classes:
            raise expected("a model with filters of classes; this studio has none", name, 404)
        if name not in self.classes:
            raise expected(f"a class, one of {', '.join(self.classes)}", name)

    @property
    def defaults(self) -> dict:
        """The descriptor and the matcher to begin with."""
        return {
            "descriptor": next(iter(self.engine.descriptors)),
            "matcher": next(iter(self.engine.matchers)),
        }

    def close(self) -> None:
        """Ends threads and removes dropped images."""
        self.jobs.close()
        self.engine.close()
        self.library.close()


def make_engine(config: StudioConfig) -> Engine:
    """Makes what computes: this machine, or a model server.

    Raises:
        ImportError: If a package of the extra `serving` is missing for a server.
        ValueError: If the model does not exist.
    """
    memory = int(config.memory_bytes * (1 - _DECODED_SHARE - _RECORDS_SHARE))
    if config.server:
        from anchornet_tf.studio.served import served_offers

        return Engine(*served_offers(config), memory)
    from anchornet_tf.studio.offers import descriptor_offers, matcher_offers
    from anchornet_tf.studio.responses import FilterResponses

    return Engine(
        descriptor_offers(config),
        matcher_offers(config),
        memory,
        FilterResponses(config.model),
    )


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
        memory=int(config.memory_bytes * _DECODED_SHARE),
    )
    if engine is None:
        engine = make_engine(config)
    return Studio(config, library, engine)
