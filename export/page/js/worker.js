/**
 * Runs the network, away from the page, so that nothing stutters meanwhile.
 *
 * Messages come in as `{number, what, ...}` and are answered as `{number, answer}` or
 * `{number, error}`, one at a time and in their order.
 */

import * as ort from "../runtime/ort.wasm.min.mjs";
import { toBytes, toRgb } from "./numbers.js";

const MODELS = ["describe", "match_features"];

const base = new URL("..", import.meta.url);
ort.env.wasm.wasmPaths = new URL("runtime/", base).href;
const sessions = {};
let hasProbabilities = false;

async function download(file, share, tell) {
  const answer = await fetch(new URL(file, base));
  if (!answer.ok) throw new Error(`${file} could not be loaded: the server said ${answer.status}.`);
  const total = Number(answer.headers.get("Content-Length"));
  const reader = answer.body.getReader();
  const chunks = [];
  let received = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    chunks.push(part.value);
    received += part.value.length;
    const percent = total ? ` ${Math.min(100, Math.round((100 * received) / total))} %` : "";
    tell(`Loading the network, ${share}:${percent}`);
  }
  const bytes = new Uint8Array(received);
  let start = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, start);
    start += chunk.length;
  }
  return bytes;
}

async function load({ probabilities }) {
  hasProbabilities = probabilities;
  const start = performance.now();
  const tell = (progress) => postMessage({ progress });
  for (const [index, model] of MODELS.entries()) {
    const share = `file ${index + 1} of ${MODELS.length}`;
    const bytes = await download(`models/${model}.onnx`, share, tell);
    tell("Preparing the network…");
    sessions[model] = await ort.InferenceSession.create(bytes, { executionProviders: ["wasm"] });
  }
  return { seconds: (performance.now() - start) / 1000 };
}

async function describe({ rgba, width, height }) {
  const image = new ort.Tensor("uint8", toRgb(rgba), [1, height, width, 3]);
  const start = performance.now();
  const { features } = await sessions.describe.run({ image });
  const seconds = (performance.now() - start) / 1000;
  const { data, dims } = features;
  const [, rows, columns, depth] = dims;
  const { values, scale } = toBytes(data, depth);
  return { header: { rows, columns, depth, scale }, values, features: { data, dims }, seconds };
}

async function match({ features, sizes }) {
  const [source, target] = features.map(({ data, dims }) => new ort.Tensor("float32", data, dims));
  const [sourceSize, targetSize] = sizes.map((size) => new ort.Tensor("int32", size, [2]));
  const start = performance.now();
  const { cells } = await sessions.match_features.run({
    source_features: source,
    target_features: target,
    source_size: sourceSize,
    target_size: targetSize,
  });
  const seconds = (performance.now() - start) / 1000;
  const [, rows, columns] = cells.dims;
  const header = { rows, columns, has_probabilities: hasProbabilities };
  return { header, values: cells.data, seconds };
}

const works = { load, describe, match };
let last = Promise.resolve();

onmessage = ({ data }) => {
  const { number, what } = data;
  last = last.then(async () => {
    try {
      postMessage({ number, answer: await works[what](data) });
    } catch (error) {
      postMessage({ number, error: error.message });
    }
  });
};
