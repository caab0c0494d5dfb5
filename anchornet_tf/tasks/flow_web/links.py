"""Which images of a set have a flow to which: all to all, or each to those most like it."""

import dataclasses
import functools

import numpy as np


@dataclasses.dataclass(frozen=True, eq=False)
class Links:
    """The pairs of images between which flows are kept, both ways.

    Args:
        neighbors: For each image the sorted numbers of the images that it is linked to, itself
            among them: its flow to itself is zero, and columns line up when all are linked to all.
    """

    neighbors: tuple[np.ndarray, ...]

    @classmethod
    def complete(cls, num_images: int) -> "Links":
        """Links all images to all."""
        everyone = np.arange(num_images)
        return cls((everyone,) * num_images)

    @classmethod
    def nearest(cls, similarity: np.ndarray, count: int) -> "Links":
        """Links each image to the `count` images that are most like it.

        Links go both ways, so an image that many others resemble has more than `count`. The most
        similar chain through all images is among the links: every image can be reached.

        Args:
            similarity: `(images, images)`, the higher the more alike.
            count: int, at least 1.
        """
        num_images = len(similarity)
        similarity = np.maximum(similarity, similarity.T).astype(np.float64)
        np.fill_diagonal(similarity, np.inf)
        linked = np.zeros((num_images, num_images), bool)
        order = np.argsort(-similarity, axis=1, kind="stable")[:, : count + 1]
        np.put_along_axis(linked, order, True, axis=1)
        for first, second in _spanning_tree(similarity):
            linked[first, second] = True
        linked |= linked.T
        return cls(tuple(np.flatnonzero(row) for row in linked))

    def __len__(self) -> int:
        return len(self.neighbors)

    @functools.cached_property
    def is_complete(self) -> bool:
        """Whether all images are linked to all."""
        return all(len(own) == len(self) for own in self.neighbors)

    def column(self, source: int, target: int) -> int:
        """Returns the place of an image among the neighbours of another.

        Raises:
            KeyError: If the two are not linked.
        """
        own = self.neighbors[source]
        place = int(np.searchsorted(own, target))
        if place == len(own) or own[place] != target:
            raise KeyError((source, target))
        return place

    def columns(self, source: int, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the places of some images among the neighbours of one, and which are there."""
        own = self.neighbors[source]
        places = np.minimum(np.searchsorted(own, targets), len(own) - 1)
        return places, own[places] == targets

    @functools.cached_property
    def num_hubs(self) -> tuple[np.ndarray, ...]:
        """For each image and neighbour the number of images that both are linked to."""
        linked = np.zeros((len(self), len(self)), np.int32)
        for source, own in enumerate(self.neighbors):
            linked[source, own] = 1
        common = linked @ linked
        # Both images of a pair are linked to both, but are no hubs of it.
        return tuple(
            np.where(own == source, 0, common[source, own] - 2)
            for source, own in enumerate(self.neighbors)
        )

    @functools.cached_property
    def bits(self) -> np.ndarray:
        """The bit that stands for each image in a set of hubs.

        Sets are only ever compared among the neighbours of one image, so two images share a bit if
        no image is linked to both: a large set with few links needs few bits.
        """
        bits = np.full(len(self), -1)
        for image, own in enumerate(self.neighbors):
            near = np.unique(np.concatenate([self.neighbors[other] for other in own]))
            taken = set(bits[near].tolist())
            bits[image] = next(bit for bit in range(len(self)) if bit not in taken)
        return bits


def _spanning_tree(similarity: np.ndarray) -> list[tuple[int, int]]:
    """Returns the links of the tree of greatest similarity that reaches all images."""
    best, parent = similarity[0].copy(), np.zeros(len(similarity), int)
    outside = np.ones(len(similarity), bool)
    outside[0] = False
    links = []
    while outside.any():
        image = int(np.flatnonzero(outside)[np.argmax(best[outside])])
        links.append((int(parent[image]), image))
        outside[image] = False
        better = outside & (similarity[image] > best)
        best[better], parent[better] = similarity[image][better], image
    return links
