"""Two ways to call a model server: gRPC with the official protos, and REST."""

import base64

import numpy as np

# By default gRPC refuses messages over 4 MB; the flow of a photograph is larger.
MAXIMUM_MESSAGE = 2**30

_TRANSIENT_HTTP = (429, 502, 503)
# REST leaves out the name of a single output; all signatures that have one call it this.
_ONLY_OUTPUT = "features"


class ServerError(RuntimeError):
    """What a server answered instead of a result.

    Attributes:
        code: str. As gRPC names it (`"INVALID_ARGUMENT"`), or `"HTTP 400"`.
        transient: bool. Whether the same request may succeed later.
    """

    def __init__(self, server: str, code: str, said: str, transient: bool = False):
        super().__init__(f"The server {server} answered {code}: {said}")
        self.code = code
        self.transient = transient


class GrpcTransport:
    """Calls `PredictionService.Predict`.

    Args:
        server: `HOST:PORT`.
        model: Name of the model on the server.

    Raises:
        ImportError: If a package of the extra `serving` is not installed.
    """

    def __init__(self, server: str, model: str):
        try:
            import grpc
            from tensorflow_serving.apis import prediction_service_pb2_grpc
        except ImportError as error:
            raise ImportError(
                "Expected gRPC and the protos of TensorFlow Serving: "
                "pip install 'anchornet_tf[serving]', or use REST with --server=http://HOST:8501. "
                f"Received: {error}"
            ) from error
        self.server = server
        self.model = model
        self._error = grpc.RpcError
        self._unavailable = grpc.StatusCode.UNAVAILABLE
        self._channel = grpc.insecure_channel(
            server,
            [
                ("grpc.max_send_message_length", MAXIMUM_MESSAGE),
                ("grpc.max_receive_message_length", MAXIMUM_MESSAGE),
            ],
        )
        self._stub = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)

    def predict(
        self, signature: str, inputs: dict[str, np.ndarray], timeout: float
    ) -> dict[str, np.ndarray]:
        """Returns the outputs of a signature, by name.

        Args:
            signature: Name of the signature.
            inputs: Arrays by the names of inputs.
            timeout: float. Seconds to wait for the answer.

        Raises:
            ServerError: If the server cannot be reached, does not answer in time, or refuses.
        """
        import tensorflow as tf

        from export.warmup import predict_request

        request = predict_request(self.model, signature, inputs)
        try:
            answer = self._stub.Predict(request, timeout=timeout)
        except self._error as error:
            code = error.code()
            transient = code == self._unavailable
            raise ServerError(self.server, code.name, error.details(), transient) from error
        return {name: tf.make_ndarray(value) for name, value in answer.outputs.items()}

    def close(self) -> None:
        """Closes the connection."""
        self._channel.close()


class RestTransport:
    """Calls `POST /v1/models/MODEL:predict`.

    Needs neither TensorFlow nor gRPC, but large images are slow as JSON.

    Args:
        server: `http://HOST:PORT`.
        model: Name of the model on the server.

    Raises:
        ImportError: If a package of the extra `serving` is not installed.
    """

    def __init__(self, server: str, model: str):
        try:
            import requests
        except ImportError as error:
            raise ImportError(
                f"Expected `requests`: pip install 'anchornet_tf[serving]'. Received: {error}"
            ) from error
        self.server = server.rstrip("/")
        self.model = model
        self._requests = requests
        self._session = requests.Session()

    def predict(
        self, signature: str, inputs: dict[str, np.ndarray], timeout: float
    ) -> dict[str, np.ndarray]:
        """Returns the outputs of a signature, by name; see `GrpcTransport.predict`."""
        body = {
            "signature_name": signature,
            "inputs": {name: _to_json(array) for name, array in inputs.items()},
        }
        url = f"{self.server}/v1/models/{self.model}:predict"
        try:
            answer = self._session.post(url, json=body, timeout=timeout)
        except self._requests.Timeout as error:
            raise ServerError(self.server, "DEADLINE_EXCEEDED", str(error)) from error
        except self._requests.RequestException as error:
            raise ServerError(self.server, "UNAVAILABLE", str(error), transient=True) from error
        try:
            content = answer.json()
        except ValueError:
            content = {"error": answer.text[:500] or "nothing"}
        if answer.status_code != 200 or "outputs" not in content:
            said = content.get("error", str(content)[:500])
            transient = answer.status_code in _TRANSIENT_HTTP
            raise ServerError(self.server, f"HTTP {answer.status_code}", said, transient)
        outputs = content["outputs"]
        outputs = outputs if isinstance(outputs, dict) else {_ONLY_OUTPUT: outputs}
        return {name: _from_json(value) for name, value in outputs.items()}

    def close(self) -> None:
        """Closes the connection."""
        self._session.close()


def _to_json(array: np.ndarray):
    array = np.asarray(array)
    if array.dtype.kind in "OS":
        return [{"b64": base64.b64encode(value).decode()} for value in array.tolist()]
    return array.tolist()


def _from_json(value) -> np.ndarray:
    array = np.asarray(value)
    return array.astype(np.float32) if array.dtype.kind == "f" else array
