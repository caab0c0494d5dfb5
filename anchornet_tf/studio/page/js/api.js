/** Talks with the server. Every failure becomes an `Error` with one readable line. */

import { decode } from "./binary.js";

const ROOT = "/api/v1";
const TOKEN = "studio-token";

/**
 * Takes the token out of the address, so that it is not shown, and keeps it for this tab.
 * @returns {string} the token, or "" where none is needed.
 */
function readToken() {
  const address = new URL(location.href);
  const given = address.searchParams.get("token");
  if (given) {
    sessionStorage.setItem(TOKEN, given);
    address.searchParams.delete("token");
    history.replaceState(null, "", address);
  }
  return sessionStorage.getItem(TOKEN) ?? "";
}

const token = readToken();

/** An error that the server answered with; `status` is 409 for work that another tab changed. */
export class ServerError extends Error {
  constructor(message, status, body) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

/** Returns an address below /api/v1 with its parameters. */
export function address(path, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== "") query.set(name, value);
  }
  const text = query.toString();
  return `${path.startsWith(ROOT) ? "" : ROOT}${path}${text ? `?${text}` : ""}`;
}

/** The same for images and event streams, which cannot send headers. */
export function addressWithToken(path, parameters = {}) {
  return address(path, token ? { ...parameters, token } : parameters);
}

async function request(method, path, { parameters, body, signal, type, keepalive } = {}) {
  const headers = {};
  if (token) headers["X-Studio-Token"] = token;
  if (body !== undefined) headers["Content-Type"] = type ?? "application/json";
  let answer;
  try {
    answer = await fetch(address(path, parameters), { method, headers, body, signal, keepalive });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The studio does not answer. Is its program still running in the terminal?");
  }
  if (answer.ok) return answer;
  let said = null;
  try {
    said = await answer.json();
  } catch {
    // No JSON: the line below has to do.
  }
  throw new ServerError(
    said?.error ?? `The studio answered ${answer.status}.`,
    answer.status,
    said,
  );
}

export const getJson = async (path, options) => (await request("GET", path, options)).json();

export const getBinary = async (path, options) =>
  decode(await (await request("GET", path, options)).arrayBuffer());

export const sendJson = async (method, path, value, options) =>
  (await request(method, path, { ...options, body: JSON.stringify(value) })).json();

/** Posts JSON and returns the file that comes back, with the name that the server gave it. */
export async function postForFile(path, value) {
  const answer = await request("POST", path, { body: JSON.stringify(value) });
  const named = /filename="?([^";]+)"?/.exec(answer.headers.get("Content-Disposition") ?? "");
  return { blob: await answer.blob(), name: named ? named[1] : null };
}

/** Sends the bytes of a file as they are: a form could be sent by any page of the web. */
export const sendFile = async (path, file) =>
  (
    await request("POST", path, {
      parameters: { name: file.name },
      body: file,
      type: "application/octet-stream",
    })
  ).json();

export const remove = (path) => request("DELETE", path);
