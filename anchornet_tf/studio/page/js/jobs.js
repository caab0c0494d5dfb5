/** Long work of the server: started, followed as it streams in, cancelled. */

import { addressWithToken, remove, sendJson } from "./api.js";

/** Work that was cancelled ends in this error, which nobody needs to read. */
function cancelled() {
  return new DOMException("Cancelled", "AbortError");
}

/**
 * Starts a job.
 * @param {Object} request As `POST /jobs` takes it.
 * @param {{progress?: Function, result?: Function}} handlers What to do with what streams in.
 * @returns {{finished: Promise<Object>, cancel: Function}} `finished` gives what `done` says.
 */
export function startJob(request, handlers) {
  let id = null;
  let stream = null;
  let stopped = false;
  let reject = null;
  const cancel = () => {
    if (stopped) return;
    stopped = true;
    stream?.close();
    // Before the id is known there is nothing to cancel yet; `run` looks at `stopped` then.
    if (id) remove(`/jobs/${id}`).catch(() => {});
    reject?.(cancelled());
  };

  async function run() {
    ({ id } = await sendJson("POST", "/jobs", request));
    if (stopped) {
      remove(`/jobs/${id}`).catch(() => {});
      throw cancelled();
    }
    return new Promise((resolve, refuse) => {
      reject = refuse;
      stream = new EventSource(addressWithToken(`/jobs/${id}/events`));
      const on = (name, action) =>
        stream.addEventListener(name, (event) => {
          if (!stopped) action(JSON.parse(event.data || "{}"));
        });
      const end = (name, action) =>
        on(name, (said) => {
          stopped = true;
          stream.close();
          action(said);
        });
      on("progress", (said) => handlers.progress?.(said));
      on("result", (said) => handlers.result?.(said));
      end("done", resolve);
      end("failed", (said) => refuse(new Error(said.error)));
      end("cancelled", () => refuse(cancelled()));
      stream.addEventListener("error", () => {
        // The browser tries again by itself, unless the server does not know the job any more.
        if (stream.readyState === EventSource.CLOSED && !stopped) {
          stopped = true;
          refuse(new Error("The studio stopped answering. Is its program still running?"));
        }
      });
    });
  }

  return { finished: run(), cancel };
}
