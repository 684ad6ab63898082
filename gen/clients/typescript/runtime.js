// Code generated from cmd/clients/typescript/runtime.impl.ts by esbuild. DO NOT EDIT.
import { release, version } from "./version.js";
export class RailError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
  }
}
export class ConnectionError extends RailError {
}
export class TimeoutError extends ConnectionError {
}
export class SignatureError extends RailError {
}
export class APIError extends RailError {
  status;
  type;
  code;
  param;
  requestId;
  existing;
  constructor(status, body, requestId) {
    super(body ? `${status} ${body.error.code}: ${body.error.message}` : `${status}: the answer is not from Rail`);
    this.status = status;
    this.type = body?.error.type ?? null;
    this.code = body?.error.code ?? null;
    this.param = body?.error.param ?? null;
    this.requestId = requestId ?? body?.error.request_id ?? null;
    this.existing = body?.existing ?? null;
  }
}
export class AuthenticationError extends APIError {
}
export class PermissionError extends APIError {
}
export class InvalidRequestError extends APIError {
}
export class NotFoundError extends APIError {
}
export class ConflictError extends APIError {
}
export class RateLimitError extends APIError {
}
export class PlanError extends APIError {
}
export class NotImplementedError extends APIError {
}
export class ServerError extends APIError {
}
const classes = {
  authentication_error: AuthenticationError,
  permission_error: PermissionError,
  invalid_request_error: InvalidRequestError,
  not_found_error: NotFoundError,
  conflict_error: ConflictError,
  rate_limit_error: RateLimitError,
  plan_error: PlanError,
  not_implemented_error: NotImplementedError,
  api_error: ServerError
};
function refusal(response, text) {
  const requestId = response.headers.get("Rail-Request-Id");
  const body = parsed(text);
  if (typeof body?.error?.code !== "string") return new APIError(response.status, null, requestId);
  return new (classes[body.error.type] ?? APIError)(response.status, body, requestId);
}
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
const retried = [429, 500, 502, 503, 504];
function passes(e, safe) {
  if (!(e instanceof APIError)) return safe && e instanceof ConnectionError;
  return e.status === 429 || safe && (retried.includes(e.status) || e.code === "idempotency_in_progress");
}
const longest = 60;
function pause(attempt, retryAfter) {
  if (retryAfter !== null && /^\d{1,9}$/.test(retryAfter)) return Number(retryAfter);
  return Math.min(8, 0.5 * 2 ** attempt) * (0.5 + Math.random() / 2);
}
function sleep(seconds, signal) {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, seconds * 1e3);
    if (signal?.aborted) end();
    signal?.addEventListener("abort", end);
  });
}
export function part(name, value) {
  if (typeof value !== "string" || /^\.{0,2}$/.test(value)) throw new RailError(`${name} is not an id`);
  return encodeURIComponent(value);
}
function address(base, path, query = {}) {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== void 0 && value !== null) all.set(name, String(value));
  }
  return base + path + (String(all) && `?${all}`);
}
const rank = (position) => position.split("-").map((number) => number.padStart(16)).join("-");
export class Client {
  #base;
  #options;
  /** The latest write, which the next read must show. */
  #position = "";
  constructor(options) {
    if (!/^https?:\/\//.test(options.baseURL)) throw new RailError("baseURL is not the address of a server");
    const browser = "window" in globalThis && "document" in globalThis;
    if (options.apiKey && browser && !options.dangerouslyAllowBrowser) {
      throw new RailError("An API key is secret. Do not use it in a browser, where every visitor can read it.");
    }
    this.#base = options.baseURL.replace(/\/+$/, "");
    this.#options = options;
  }
  async request(method, path, call = {}, options = {}) {
    const body = call.body === void 0 ? "" : JSON.stringify(call.body);
    const headers = this.#headers(method, call, body, options);
    const retries = options.maxRetries ?? this.#options.maxRetries ?? 3;
    for (let attempt = 0; ; attempt++) {
      let retryAfter = null;
      try {
        const response = await this.#send(method, address(this.#base, path, call.query), headers, call, body, options);
        const text = await this.#try(() => response.text(), options);
        if (response.ok) return answer(response, text, call);
        retryAfter = response.headers.get("Retry-After");
        throw refusal(response, text);
      } catch (e) {
        const seconds = pause(attempt, retryAfter);
        if (attempt >= retries || seconds > longest || !passes(e, !call.keyless || method !== "POST")) throw e;
        await sleep(seconds, options.signal);
      }
    }
  }
  /** Returns the headers of all attempts, which have one key: the server makes what they ask for once. */
  #headers(method, call, body, options) {
    const { apiKey } = this.#options;
    const headers = new Headers(options.headers);
    if (body !== "") headers.set("Content-Type", "application/json");
    if (call.cookies) return headers;
    headers.set("X-Rail-Version", version);
    headers.set("User-Agent", `rail-typescript/${release}`);
    if (call.keyless) return headers;
    if (!apiKey) throw new RailError("apiKey is required for this call");
    headers.set("Authorization", `Bearer ${apiKey}`);
    if (method === "POST") headers.set("Idempotency-Key", options.idempotencyKey ?? crypto.randomUUID());
    if (method === "GET" && this.#position) headers.set("Rail-Position", this.#position);
    return headers;
  }
  /** Sends one attempt. */
  async #send(method, url, headers, call, body, options) {
    const timeout = AbortSignal.timeout(options.timeout ?? this.#options.timeout ?? 3e4);
    const signal = options.signal ? AbortSignal.any([timeout, options.signal]) : timeout;
    const init = { method, headers, signal, redirect: "manual" };
    if (body !== "") init.body = body;
    if (call.cookies) init.credentials = "include";
    if (this.#options.signRequests && !call.keyless) {
      const at = String(Math.floor(Date.now() / 1e3));
      headers.set("Rail-Signature", `t=${at},v1=${await signature(this.#options.apiKey ?? "", at, body)}`);
    }
    const response = await this.#try(() => (this.#options.fetch ?? fetch)(url, init), options);
    const position = response.headers.get("Rail-Position") ?? "";
    if (rank(position) > rank(this.#position)) this.#position = position;
    return response;
  }
  /** Turns the failures of fetch into errors of this package, except when the caller gave up. */
  async #try(step, options) {
    try {
      return await step();
    } catch (cause) {
      if (options.signal?.aborted) throw options.signal.reason;
      if (cause.name === "TimeoutError") throw new TimeoutError("There was no answer in time.", { cause });
      throw new ConnectionError("The server cannot be reached, or the answer was lost.", { cause });
    }
  }
}
function answer(response, text, call) {
  if (response.status === 204) return null;
  if (call.text) return text;
  const body = parsed(text);
  if (body === null) throw new APIError(response.status, null, response.headers.get("Rail-Request-Id"));
  return body;
}
export function byItem(member) {
  const at = (item) => item?.[member];
  return (page, query) => {
    if (!page.has_more || page.data.length === 0) return null;
    if (query.ending_before !== void 0) return { ...query, ending_before: at(page.data[0]) };
    return { ...query, offset: void 0, starting_after: at(page.data.at(-1)) };
  };
}
export const byPage = (page, query) => page.caught_up ? null : { ...query, after: page.cursor };
export class List {
  #get;
  #query;
  #next;
  constructor(client, path, query = {}, options, next) {
    this.#get = (query2) => client.request("GET", path, { query: query2 }, options);
    this.#query = { ...query };
    this.#next = next;
  }
  page() {
    return this.#get(this.#query);
  }
  async *pages() {
    for (let query = this.#query; query !== null; ) {
      const page = await this.#get(query);
      yield page;
      query = this.#next(page, query);
    }
  }
  async *[Symbol.asyncIterator]() {
    const back = this.#query.ending_before !== void 0;
    for await (const page of this.pages()) yield* back ? [...page.data].reverse() : page.data;
  }
  async toArray(limit) {
    const all = [];
    for await (const item of this) if (all.push(item) >= limit) break;
    return all;
  }
}
const encoder = new TextEncoder();
const hmacKey = (secret) => crypto.subtle.importKey("raw", encoder.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
function signed(at, body) {
  const [begin, rest] = [encoder.encode(`${at}.`), typeof body === "string" ? encoder.encode(body) : body];
  const all = new Uint8Array(begin.length + rest.length);
  all.set(begin);
  all.set(rest, begin.length);
  return all;
}
async function signature(secret, at, body) {
  const bytes = new Uint8Array(await crypto.subtle.sign("HMAC", await hmacKey(secret), signed(at, body)));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
export async function constructEvent(body, header, secret, options = {}) {
  const { tolerance = 300, now = Date.now() } = options;
  const pairs = (header ?? "").split(",").map((pair) => pair.trim().split("="));
  const at = pairs.find(([name]) => name === "t")?.[1] ?? "";
  if (!/^[0-9]{1,12}$/.test(at)) throw new SignatureError("Rail-Signature is missing, or has no time.");
  if (Math.abs(now / 1e3 - Number(at)) > tolerance) throw new SignatureError("The signature is too old, or of the future.");
  const key = await hmacKey(secret);
  for (const [name, v1 = ""] of pairs) {
    if (name !== "v1" || !/^[0-9a-f]{64}$/.test(v1)) continue;
    const bytes = Uint8Array.from(v1.match(/../g) ?? [], (hex) => parseInt(hex, 16));
    if (await crypto.subtle.verify("HMAC", key, bytes, signed(at, body))) {
      return JSON.parse(typeof body === "string" ? body : new TextDecoder().decode(body));
    }
  }
  throw new SignatureError("No signature is that of this body and secret.");
}
