"""What an alignment gives: flows of all pairs of a set of images, which agree with each other."""

import heapq
import os
import zipfile
from collections.abc import Sequence

import numpy as np

from anchornet_tf.matchers.flow import Flow
from anchornet_tf.tasks.flow_web.links import Links
from anchornet_tf.tasks.flow_web.optimization import Consistent
from anchornet_tf.tasks.flow_web.web import Web, as_image, is_inside, pixel_places
from anchornet_tf.utils.array_archive import open_archive
from anchornet_tf.utils.files import atomic_file


class AlignedImages:
    """Flows of all ordered pairs of a set of images.

    `aligned[i, j]` is the `Flow` from image i to image j, in pixels of the images as they were
    given. Its confidence is the share of 3-cycles that agree with it: of all ways from i to j
    through a third image, those that end in the same place.

    Args:
        sizes: `(height, width)` of each image.
        found: What the iterations gave.

    Attributes:
        sizes: As given.
        size: The common `(height, width)` that flows are known at.
        objective: The objective before the first iteration and after each.
    """

    def __init__(self, sizes: Sequence[tuple[int, int]], found: Consistent):
        self.sizes = tuple((int(height), int(width)) for height, width in sizes)
        self.objective = found.objective
        self._web = found.web
        self._agreement = found.agreement

    def __len__(self) -> int:
        return len(self.sizes)

    def __repr__(self) -> str:
        return f"AlignedImages({len(self)} images, size={self.size})"

    @property
    def size(self) -> tuple[int, int]:
        """The common `(height, width)` that flows are known at."""
        return self._web.size

    def __getitem__(self, pair: tuple[int, int]) -> Flow:
        """Returns the flow of a pair.

        Two images that are not linked are joined by the way through linked ones that agrees best,
        and the confidences along it are multiplied.

        Raises:
            IndexError: If there are no such images.
        """
        try:
            source, target = (range(len(self))[number] for number in pair)
        except (TypeError, ValueError, IndexError) as error:
            raise IndexError(
                f"Expected two numbers of the {len(self)} images. Received: {pair!r}"
            ) from error
        places, confidence = self._path(self._way(source, target))
        scale = np.divide(self.sizes[target], self.size)
        landing = (as_image(places, self.size) + 0.5) * scale - 0.5
        origin = pixel_places(self.size) + 0.5
        origin = as_image(origin, self.size) * np.divide(self.sizes[source], self.size) - 0.5
        return Flow.from_grid(
            landing - origin,
            self.sizes[source],
            self.sizes[target],
            valid=as_image(is_inside(places, self.size), self.size),
            confidence=as_image(confidence, self.size),
        )

    def consistency(self) -> np.ndarray:
        """Returns `(images, images)`: the mean confidence of linked pairs, NaN of others."""
        found = np.full((len(self), len(self)), np.nan)
        for source, own in enumerate(self._web.links.neighbors):
            possible = np.maximum(self._web.links.num_hubs[source], 1)
            found[source, own] = self._agreement[source].mean(axis=0) / possible
        np.fill_diagonal(found, 1)
        return found

    def center(self) -> int:
        """Returns the image that agrees best with the others: one to warp all onto."""
        shares = self.consistency()
        np.fill_diagonal(shares, np.nan)
        return int(np.argmax(np.nan_to_num(np.nansum(shares + shares.T, axis=1))))

    def save(self, path: str | os.PathLike) -> None:
        """Writes all flows to a NumPy archive (.npz)."""
        links = self._web.links
        arrays = {
            "size": self.size,
            "sizes": self.sizes,
            "objective": self.objective,
            **{f"neighbors_{n}": own for n, own in enumerate(links.neighbors)},
            **{f"flows_{n}": own for n, own in enumerate(self._web.flows)},
            **{f"agreement_{n}": own for n, own in enumerate(self._agreement)},
        }
        with atomic_file(path) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(file, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike) -> "AlignedImages":
        """Reads what `save` wrote.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If the file holds something else.
        """
        if not os.path.exists(path):
            raise FileNotFoundError(
                f"Expected the file of an alignment. Received: {os.fspath(path)!r}"
            )
        try:
            with open_archive(path) as archive:
                sizes = archive["sizes"]
                numbers = range(len(sizes))
                links = Links(tuple(archive[f"neighbors_{n}"] for n in numbers))
                flows = [archive[f"flows_{n}"] for n in numbers]
                agreement = [archive[f"agreement_{n}"] for n in numbers]
                height, width = (int(side) for side in archive["size"])
                objective = tuple(archive["objective"].tolist())
        except (KeyError, ValueError, EOFError, TypeError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"Expected a file that an alignment was saved to. Received: {os.fspath(path)!r}"
            ) from error
        return cls(sizes, Consistent(Web((height, width), links, flows), objective, agreement))

    def _path(self, way: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Returns where pixels land at the end of a way, `(pixels, 2)`, and how sure that is."""
        links, size = self._web.links, np.array(self.size)
        places = pixel_places(self.size)
        confidence = np.ones(len(places), np.float32)
        for source, target in zip(way, way[1:], strict=False):
            column = links.column(source, target)
            confidence *= is_inside(places, self.size)
            here = np.clip(places, 0, size - 1)
            number = here[:, 1].astype(np.intp) * self.size[0] + here[:, 0]
            places = places + self._web.flows[source][number, column]
            possible = max(1, int(links.num_hubs[source][column]))
            confidence *= self._agreement[source][number, column] / np.float32(possible)
        return places, confidence

    def _way(self, source: int, target: int) -> list[int]:
        """Returns the images from one to another: few steps, and such that agree."""
        links = self._web.links
        if source == target:
            return [source]
        if target in links.neighbors[source]:
            return [source, target]
        shares = self.consistency()
        queue, seen = [(0.0, [source])], set()
        while queue:
            cost, way = heapq.heappop(queue)
            here = way[-1]
            if here == target:
                return way
            if here in seen:
                continue
            seen.add(here)
            for other in links.neighbors[here].tolist():
                if other not in seen:
                    heapq.heappush(queue, (cost + 2 - shares[here, other], [*way, other]))
        raise IndexError(f"Expected images that are linked. Received: {(source, target)}")
