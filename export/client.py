r"""Asks a model server for descriptors and matches.

    python -m export.client --server=localhost:8500 a.jpg b.jpg     # gRPC; draws match.png
    python -m export.client --server=http://localhost:8501 a.jpg b.jpg --points='120,80 64,200'
    python -m export.client --server=localhost:8500 a.jpg           # descriptors of one image

In Python:

    with Client("localhost:8500") as client:
        flow = client.match("a.jpg", "b.jpg")       # an anchornet_tf.Flow
        features = client.features("a.jpg")         # an anchornet_tf.FeatureMap
"""

import io
import time

import numpy as np
import PIL.Image
from absl import app, flags

from anchornet_tf.command_line import program
from anchornet_tf.features.feature_map import FeatureMap
from anchornet_tf.matchers.flow import Flow
from anchornet_tf.matchers.flow_sampling import rescaled_points
from anchornet_tf.utils.image_io import read_scaled
from export.transports import GrpcTransport, RestTransport, ServerError

_FIRST_PAUSE = 0.2


class Client:
    """A connection to TensorFlow Serving, or to any server of its protocol.

    Args:
        server: `HOST:PORT` for gRPC, `http://HOST:PORT` for REST.
        model: name of the model on the server.
        timeout: float. Seconds that a request may take, its retries included.
        retries: int. How often to ask again where the server cannot be reached; the pauses double.
            What a server refuses is not sent again.

    Raises:
        ImportError: where a package of the extra `serving` is missing.
        ValueError: for a server without a port, or a time-out that is not positive.
    """

    def __init__(
        self, server: str, model: str = "anchornet", timeout: float = 60.0, retries: int = 4
    ):
        if not timeout > 0 or retries < 0:
            raise ValueError(
                "Expected a positive time-out and no negative number of retries. "
                f"Received: timeout={timeout}, retries={retries}"
            )
        if not server.rpartition(":")[2].rstrip("/").isdigit():
            raise ValueError(f"Expected HOST:PORT or http://HOST:PORT. Received: {server!r}")
        self.timeout = timeout
        self.retries = retries
        transport = RestTransport if server.startswith(("http://", "https://")) else GrpcTransport
        self._transport = transport(server, model)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self._transport.close()

    def predict(self, signature: str, **inputs: np.ndarray) -> dict[str, np.ndarray]:
        """Calls any signature.

        Args:
            signature: its name.
            **inputs: arrays by the names of its inputs, batch first.

        Returns:
            arrays by the names of its outputs.

        Raises:
            ServerError: with what the server said.
        """
        end = time.monotonic() + self.timeout
        pause = _FIRST_PAUSE
        attempts = 0
        while True:
            attempts += 1
            try:
                remaining = max(end - time.monotonic(), 1e-3)
                return self._transport.predict(signature, inputs, remaining)
            except ServerError as error:
                last = attempts > self.retries or time.monotonic() + pause > end
                if last or not error.transient:
                    raise
            time.sleep(pause)
            pause *= 2

    def features(self, image) -> FeatureMap:
        """Returns the class-agnostic descriptors of an image, which the server resizes.

        Args:
            image: a path, an array or a PIL image, as in `anchornet_tf.utils.image_io.read_image`.
        """
        image = read_scaled(image)
        buffer = io.BytesIO()
        # Lossless, so that the descriptors are those of the very pixels.
        PIL.Image.fromarray(image.pixels).save(buffer, "PNG", compress_level=1)
        encoded = np.array([buffer.getvalue()], object)
        answer = self.predict("from_bytes", image_bytes=encoded)
        return FeatureMap(answer["features"][0], image.original_size)

    def match(self, image_a, image_b) -> Flow:
        """Returns the flow from one image to another, of any sizes.

        Images with a side over 2,048 pixels are sent smaller; the flow is in their own pixels.
        """
        source, target = read_scaled(image_a), read_scaled(image_b)
        answer = self.predict("match", **_pair(source, target))
        flow = Flow(answer["flow"][0], target.pixels.shape[:2], confidence=answer["confidence"][0])
        return flow.resized(source.original_size, target.original_size)

    def match_points(self, image_a, image_b, points) -> np.ndarray:
        """Carries points across, with a small answer.

        Args:
            image_a: the source.
            image_b: the target.
            points: `(n, 2)` of (x, y), 0-based pixels of the source.

        Returns:
            float32 `(n, 2)` of (x, y) in the target.
        """
        source, target = read_scaled(image_a), read_scaled(image_b)
        sent = rescaled_points(
            np.asarray(points, np.float64), source.original_size, source.pixels.shape[:2]
        )
        answer = self.predict(
            "match_points",
            points=sent.astype(np.float32).reshape(1, -1, 2),
            **_pair(source, target),
        )
        return rescaled_points(answer["points"][0], target.pixels.shape[:2], target.original_size)


def _pair(source, target) -> dict[str, np.ndarray]:
    return {"source": source.pixels[np.newaxis], "target": target.pixels[np.newaxis]}


def _define_flags() -> None:
    # Not at import: `Client` is for other programs too, which have flags of their own.
    flags.DEFINE_string(
        "server", "localhost:8500", "HOST:PORT for gRPC, http://HOST:PORT for REST."
    )
    flags.DEFINE_string("model", "anchornet", "Name of the model on the server.")
    flags.DEFINE_float("timeout", 60.0, "Seconds that a request may take, its retries included.")
    flags.DEFINE_integer("retries", 4, "Further attempts where the server cannot be reached.")
    flags.DEFINE_string(
        "points",
        "",
        "'X,Y X,Y ...' pixels of the first image to carry across: asks for these alone.",
    )
    flags.DEFINE_string("output", "match.png", "The picture to write; empty for none.")


def _parse_points(text: str) -> list[tuple[float, float]]:
    try:
        return [(float(x), float(y)) for x, y in (entry.split(",") for entry in text.split())]
    except ValueError as error:
        raise ValueError(f"--points must be X,Y pairs in pixels. Received: {text!r}") from error


def _run(client: Client, paths: list[str], points: str, output: str) -> None:
    if len(paths) == 1:
        features = client.features(paths[0])
        norms = np.linalg.norm(features.values, axis=-1)
        print(f"Descriptors of {paths[0]}: {features.values.shape}, mean length {norms.mean():.4g}")
        return
    if points:
        given = _parse_points(points)
        for point, moved in zip(given, client.match_points(*paths, given), strict=True):
            print(f"{point[0]:g},{point[1]:g} -> {moved[0]:.1f},{moved[1]:.1f}")
        return
    flow = client.match(*paths)
    length = np.linalg.norm(flow.displacement, axis=-1)
    print(f"Flow of {flow.shape} pixels, mean displacement {length.mean():.1f} pixels")
    if output:
        from anchornet_tf import viz
        from anchornet_tf.utils import files

        figure = viz.plot_summary(*paths, flow)
        with files.atomic_file(output) as temporary:
            figure.savefig(temporary, dpi=120)
        print(f"Picture written to {output}")


def main(argv):
    if len(argv) not in (2, 3):
        raise app.UsageError(
            f"Expected one or two images. Received: {' '.join(argv[1:]) or 'none'}"
        )
    given = flags.FLAGS
    try:
        with Client(given.server, given.model, given.timeout, given.retries) as client:
            _run(client, argv[1:], given.points, given.output)
    except ServerError as error:
        raise ValueError(f"Expected an answer of the model server. Received: {error}") from error


if __name__ == "__main__":
    _define_flags()
    program.run(main)
