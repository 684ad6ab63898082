// The public part of the runtime. runtime.js comes from runtime.impl.ts, which a test compares with this.
import type { ErrorCode, ErrorEnvelope, ErrorType, Event } from './types.js'

/** How a client reaches the server. */
export interface ClientOptions {
  /** The address of your Rail server, without `/v1`: `https://rail.example.com`. */
  baseURL: string
  /** A secret API key. Only `rail.browser` and `rail.documents` work without one. */
  apiKey?: string | undefined
  /** Milliseconds after which an attempt ends. The default is 30,000. */
  timeout?: number | undefined
  /** How often a call is repeated after a failure that may pass. The default is 3. */
  maxRetries?: number | undefined
  /** Signs requests with the key, for a key with `rail.inboundSigning`. */
  signRequests?: boolean | undefined
  /** Allows a secret key in a browser. Every visitor can then read the key. */
  dangerouslyAllowBrowser?: boolean | undefined
  /** Sends requests in place of the global `fetch`. */
  fetch?: ((input: string, init: RequestInit) => Promise<Response>) | undefined
}

/** Options of one call. */
export interface RequestOptions {
  /**
   * The key that makes a repeated POST the same call for 24 hours. By default each call has a random one, which its
   * retries share. A key made of what happened, such as a charge's id, also covers a restart of your program.
   */
  idempotencyKey?: string | undefined
  /** Milliseconds after which an attempt ends. */
  timeout?: number | undefined
  /** How often the call is repeated after a failure that may pass. */
  maxRetries?: number | undefined
  /** Ends the call, also between attempts. The call then throws the signal's reason. */
  signal?: AbortSignal | undefined
  /** More headers, such as `traceparent`. */
  headers?: Record<string, string> | undefined
}

/** What a call sends, and how its answer is read. */
export interface Call {
  query?: object | undefined
  /** A value that is sent as JSON. */
  body?: unknown
  /** The answer is text. */
  text?: boolean
  /** The call needs no API key. */
  keyless?: boolean
  /** The browser sends its cookies. */
  cookies?: boolean
}

/** Sends requests. `Rail` has a property for each resource. */
export class Client {
  constructor(options: ClientOptions)
  /** Sends any request, such as one of an operation that is newer than this package. */
  request<T = unknown>(method: string, path: string, call?: Call, options?: RequestOptions): Promise<T>
}

/**
 * A list, which is requested page by page while it is read: `for await (const partner of rail.partners.list(…))`. With
 * `ending_before` it goes to newer objects, the nearest first.
 */
export class List<Item, Page extends { data: Item[] }> implements AsyncIterable<Item> {
  private constructor()
  /** Requests the first page alone. */
  page(): Promise<Page>
  /** Requests the pages, one after another. */
  pages(): AsyncGenerator<Page, void>
  [Symbol.asyncIterator](): AsyncGenerator<Item, void>
  /** Requests pages until there are `limit` items, or the list ends. `limit` is at least 1. */
  toArray(limit: number): Promise<Item[]>
}

/** The object that has a value that must be unique, in a `ConflictError`. */
export interface Existing {
  id: string
  object: string
  [member: string]: unknown
}

/** Every error of this package. */
export class RailError extends Error {
  constructor(message: string, options?: { cause?: unknown })
}

/** The server could not be reached, or its answer was lost. A POST may have had its effect. */
export class ConnectionError extends RailError {}

/** There was no answer in time. */
export class TimeoutError extends ConnectionError {}

/** A webhook has no valid signature. */
export class SignatureError extends RailError {}

/** An answer of the server that is no success. Branch on `code`; the message is for people, and may change. */
export class APIError extends RailError {
  constructor(status: number, body: (ErrorEnvelope & { existing?: Existing }) | null, requestId: string | null)
  readonly status: number
  /** The class of the error, or null if the answer is not from Rail, but from a proxy. */
  readonly type: ErrorType | null
  /** The code, or null if the answer is not from Rail. A newer server may have codes that this package does not list. */
  readonly code: ErrorCode | null
  /** The invalid parameter, as a path such as `branches[0].rate_value`. */
  readonly param: string | null
  /** The id of the request, which the server's log has too. */
  readonly requestId: string | null
  /** The object that has the value, if it must be unique. */
  readonly existing: Existing | null
}

/** The key or the signature of the request is not valid: 401. */
export class AuthenticationError extends APIError {}
/** The key lacks a scope, or the page's host is not allowed: 403. */
export class PermissionError extends APIError {}
/** The request is not valid: 400, 405, 413, 415 or 422. `param` names the parameter. */
export class InvalidRequestError extends APIError {}
/** There is no such object: 404. */
export class NotFoundError extends APIError {}
/** The state of an object, or a value that must be unique, does not allow the call: 409. */
export class ConflictError extends APIError {}
/** There were too many requests, also after the retries: 429. */
export class RateLimitError extends APIError {}
/** A limit of the organization is reached: 402. */
export class PlanError extends APIError {}
/** The server's operator has not configured what the call needs: 501. */
export class NotImplementedError extends APIError {}
/** The server failed, also after the retries: 500 or 503. */
export class ServerError extends APIError {}

/** Options of the verification of a webhook. */
export interface EventOptions {
  /** The most seconds between the signature's time and now. The default is 300. */
  tolerance?: number | undefined
  /** The present in milliseconds. The default is that of the system. */
  now?: number | undefined
}

/**
 * Verifies a webhook and returns its event. `body` is the raw body, as it arrived, and `header` the value of
 * `Rail-Signature`. Throws a `SignatureError` if the signature is not valid: answer with 400 then. De-duplicate on the
 * event's `id`, and ignore types that you do not know.
 */
export function constructEvent(
  body: string | Uint8Array, header: string | null | undefined, secret: string, options?: EventOptions,
): Promise<Event>

// For index.js.

/** @internal */
export function part(name: string, value: string): string
/** @internal */
export function byItem(member: string): unknown
/** @internal */
export const byPage: unknown
