"""A small model server that speaks TensorFlow Serving's protocols, to test clients.

It stands in for the real server, whose binary is in no Python package. It uses the official protos
and has the gRPC services `PredictionService` and `ModelService`, and the REST calls `:predict` and
the model's status.
"""

import base64
import concurrent.futures
import contextlib
import http.server
import json
import threading
import time

import grpc
import numpy as np
import tensorflow as tf
from google.protobuf import any_pb2
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

_HTTP = {"INVALID_ARGUMENT": 400, "NOT_FOUND": 404, "UNAVAILABLE": 503}
_UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class Refusal(Exception):
    """An answer other than a result: the name of a gRPC code and a text."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Servable:
    """A loaded SavedModel under a name.

    Attributes:
        failures: int. How many of the next requests to answer with UNAVAILABLE.
        delay: float. Seconds to wait before each answer.
        calls: int. The number of requests so far.
    """

    def __init__(self, folder, name, version=1):
        self.loaded = tf.saved_model.load(str(folder))
        saved = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
        self.signature_defs = dict(saved.meta_graphs[0].signature_def)
        self.name, self.version = name, version
        self.failures, self.delay, self.calls = 0, 0.0, 0

    def check(self, name):
        if name != self.name:
            raise Refusal("NOT_FOUND", f"Servable not found for request: Latest({name})")

    def predict(self, name, signature, inputs):
        self.calls += 1
        time.sleep(self.delay)
        if self.failures:
            self.failures -= 1
            raise Refusal("UNAVAILABLE", "the model is still loading")
        self.check(name)
        signature = signature or "serving_default"
        if signature not in self.loaded.signatures:
            raise Refusal("INVALID_ARGUMENT", f"Serving signature key {signature!r} not found.")
        try:
            return self.loaded.signatures[signature](**inputs)
        except tf.errors.OpError as error:
            code = {tf.errors.INVALID_ARGUMENT: "INVALID_ARGUMENT"}.get(error.error_code, "UNKNOWN")
            raise Refusal(code, error.message) from error
        except (TypeError, ValueError) as error:
            raise Refusal("INVALID_ARGUMENT", str(error)) from error


class _PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    def __init__(self, servable):
        self.servable = servable

    def Predict(self, request, context):
        inputs = {
            name: tf.constant(tf.make_ndarray(value)) for name, value in request.inputs.items()
        }
        spec = request.model_spec
        try:
            outputs = self.servable.predict(spec.name, spec.signature_name, inputs)
        except Refusal as refusal:
            context.abort(grpc.StatusCode[refusal.code], str(refusal))
        response = predict_pb2.PredictResponse()
        response.model_spec.name = spec.name
        for name, value in outputs.items():
            response.outputs[name].CopyFrom(tf.make_tensor_proto(value.numpy()))
        return response

    def GetModelMetadata(self, request, context):
        response = get_model_metadata_pb2.GetModelMetadataResponse()
        response.model_spec.name = request.model_spec.name
        response.model_spec.version.value = self.servable.version
        signatures = get_model_metadata_pb2.SignatureDefMap()
        for name, definition in self.servable.signature_defs.items():
            signatures.signature_def[name].CopyFrom(
                meta_graph_pb2.SignatureDef.FromString(definition.SerializeToString())
            )
        packed = any_pb2.Any()
        packed.Pack(signatures)
        response.metadata["signature_def"].CopyFrom(packed)
        return response


class _ModelService(model_service_pb2_grpc.ModelServiceServicer):
    def __init__(self, servable):
        self.servable = servable

    def GetModelStatus(self, request, context):
        response = get_model_status_pb2.GetModelStatusResponse()
        status = response.model_version_status.add(version=self.servable.version)
        status.state = get_model_status_pb2.ModelVersionStatus.AVAILABLE
        return response


@contextlib.contextmanager
def grpc_server(servable, port=0):
    """Serves over gRPC while the block runs; yields `HOST:PORT`."""
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2), options=_UNLIMITED)
    service = _PredictionService(servable)
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(service, server)
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(_ModelService(servable), server)
    port = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


@contextlib.contextmanager
def rest_server(servable, port=0):
    """Serves over REST while the block runs; yields `http://HOST:PORT`."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            name = self.path.removeprefix("/v1/models/").removesuffix(":predict")
            signature = body.get("signature_name", "serving_default")
            try:
                outputs = servable.predict(
                    name, signature, self._tensors(signature, body["inputs"])
                )
            except Refusal as refusal:
                self._answer(_HTTP.get(refusal.code, 500), {"error": str(refusal)})
                return
            values = {key: _to_json(value.numpy()) for key, value in outputs.items()}
            # The real server leaves out the name of a single output.
            only = next(iter(values.values())) if len(values) == 1 else values
            self._answer(200, {"outputs": only})

        def _tensors(self, signature, inputs):
            known = servable.signature_defs.get(signature)
            types = known.inputs if known else {}
            return {
                name: tf.constant(_from_json(value), types[name].dtype if name in types else None)
                for name, value in inputs.items()
            }

        def _answer(self, code, content):
            data = json.dumps(content).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            # A client that timed out has closed the connection.
            with contextlib.suppress(ConnectionError):
                self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _from_json(value):
    if isinstance(value, dict):
        return base64.b64decode(value["b64"])
    return [_from_json(item) for item in value] if isinstance(value, list) else value


def _to_json(array):
    if array.dtype.kind in "OS":
        return np.vectorize(lambda value: value.decode(), otypes=[object])(array).tolist()
    return array.tolist()
