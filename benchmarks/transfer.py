"""What it costs to carry annotations from five references to many images."""

from anchornet_tf.features.deep import DeepDescriptor
from anchornet_tf.matchers.matcher import Matcher
from anchornet_tf.models import folding
from anchornet_tf.tasks.transfer import transfer
from benchmarks import models
from benchmarks.pictures import drawn_image
from benchmarks.results import Goal, Results
from benchmarks.settings import Settings
from benchmarks.timing import in_turn

_POINTS = 10
_TRUNK = "bare trunk on the images"


def carried_points(settings: Settings) -> Results:
    """Ten points from five references, against the trunk's passes over the same images."""
    count, size = settings.choose((64, 224), (4, 64))
    network = models.network(*settings.choose((20, 64), (2, 8)))
    describe = DeepDescriptor(folding.features_function(network, fixed=True), size)
    matcher = Matcher(describe, "hough")
    images = [drawn_image(index, (size, size)) for index in range(count + 5)]
    marks = {f"point {n}": ((n + 1) * size / 12, (n + 1) * size / 12) for n in range(_POINTS)}
    references = [(image, marks) for image in images[:5]]
    trunk, batch = models.compiled(models.trunk), models.random_images(8, size)

    def carry(**options):
        return list(transfer(references, images[5:], matcher, **options))

    works = {
        _TRUNK: lambda: [trunk(batch) for _ in range(count // 8 or 1)],
        "describing": lambda: describe(images[5:]),
        "five": carry,
        "without mirrors": lambda: carry(mirror=False),
    }
    timed = in_turn(works, settings.repeats)
    title = f"transfer of {_POINTS} points from 5 references to {count} images"
    return Results(
        (
            timed.row("five", title, per=_TRUNK, goal=Goal(1.5)),
            timed.row("without mirrors", "the same, mirror=False", per=_TRUNK),
            timed.row("describing", "of which describing the images", per=_TRUNK),
        )
    )
