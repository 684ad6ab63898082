// The part of the client that is written by hand; runtime.d.ts describes what of it is public. It needs fetch, WebCrypto
// and AbortSignal.any, which Node, Bun, Deno, Workers and browsers have, and nothing of Node.
import type { Call, ClientOptions, EventOptions, Existing, RequestOptions } from './runtime.js'
import { release, version } from './version.js'
import type { ErrorCode, ErrorEnvelope, ErrorType, Event } from './types.js'

export class RailError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = new.target.name
  }
}

export class ConnectionError extends RailError {}
export class TimeoutError extends ConnectionError {}
export class SignatureError extends RailError {}

export class APIError extends RailError {
  readonly status: number
  readonly type: ErrorType | null
  readonly code: ErrorCode | null
  readonly param: string | null
  readonly requestId: string | null
  readonly existing: Existing | null

  constructor(status: number, body: (ErrorEnvelope & { existing?: Existing }) | null, requestId: string | null) {
    super(body ? `${status} ${body.error.code}: ${body.error.message}` : `${status}: the answer is not from Rail`)
    this.status = status
    this.type = body?.error.type ?? null
    this.code = body?.error.code ?? null
    this.param = body?.error.param ?? null
    this.requestId = requestId ?? body?.error.request_id ?? null
    this.existing = body?.existing ?? null
  }
}

export class AuthenticationError extends APIError {}
export class PermissionError extends APIError {}
export class InvalidRequestError extends APIError {}
export class NotFoundError extends APIError {}
export class ConflictError extends APIError {}
export class RateLimitError extends APIError {}
export class PlanError extends APIError {}
export class NotImplementedError extends APIError {}
export class ServerError extends APIError {}

const classes: Record<ErrorType, typeof APIError> = {
  authentication_error: AuthenticationError,
  permission_error: PermissionError,
  invalid_request_error: InvalidRequestError,
  not_found_error: NotFoundError,
  conflict_error: ConflictError,
  rate_limit_error: RateLimitError,
  plan_error: PlanError,
  not_implemented_error: NotImplementedError,
  api_error: ServerError,
}

/** Returns the error of an answer. The page of a proxy has no code, and may be of any form. */
function refusal(response: Response, text: string): APIError {
  const requestId = response.headers.get('Rail-Request-Id')
  const body = parsed(text) as (ErrorEnvelope & { existing?: Existing }) | null
  if (typeof body?.error?.code !== 'string') return new APIError(response.status, null, requestId)
  return new (classes[body.error.type] ?? APIError)(response.status, body, requestId)
}

/** Returns the value of a JSON text, or null for another text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const retried = [429, 500, 502, 503, 504]

/** Reports whether another attempt may succeed. safe means that the server does nothing twice. */
function passes(e: unknown, safe: boolean): boolean {
  if (!(e instanceof APIError)) return safe && e instanceof ConnectionError
  return e.status === 429 || (safe && (retried.includes(e.status) || e.code === 'idempotency_in_progress'))
}

/** The longest time to wait before an attempt, in seconds. An error that asks for a longer one is thrown. */
const longest = 60

/** Returns the seconds to wait before an attempt: what Retry-After says, or else longer each time, with a random part. */
function pause(attempt: number, retryAfter: string | null): number {
  if (retryAfter !== null && /^\d{1,9}$/.test(retryAfter)) return Number(retryAfter)
  return Math.min(8, 0.5 * 2 ** attempt) * (0.5 + Math.random() / 2)
}

/** Waits, unless the caller gives up. */
function sleep(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => { clearTimeout(timer); reject(signal?.reason) }
    const timer = setTimeout(() => { signal?.removeEventListener('abort', end); resolve() }, seconds * 1000)
    if (signal?.aborted) end()
    signal?.addEventListener('abort', end)
  })
}

/** Writes a value as one part of a path. */
export function part(name: string, value: string): string {
  // Without a value, or with dots, the path would be that of another operation.
  if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) throw new RailError(`${name} is not an id`)
  return encodeURIComponent(value)
}

/** Returns an address with a query. The items of a list are separated by commas. */
function address(base: string, path: string, query: object = {}): string {
  const all = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) all.set(name, String(value))
  }
  return base + path + (String(all) && `?${all}`)
}

/** Returns a position in a form that sorts. A position is the hex numbers of a timeline and of a place in it. */
const rank = (position: string): string => position.split('-').map((number) => number.padStart(16)).join('-')

export class Client {
  readonly #base: string
  readonly #options: ClientOptions
  /** The latest write, which the next read must show. */
  #position = ''

  constructor(options: ClientOptions) {
    if (!/^https?:\/\//.test(options.baseURL)) throw new RailError('baseURL is not the address of a server')
    const browser = 'window' in globalThis && 'document' in globalThis
    if (options.apiKey && browser && !options.dangerouslyAllowBrowser) {
      throw new RailError('An API key is secret. Do not use it in a browser, where every visitor can read it.')
    }
    this.#base = options.baseURL.replace(/\/+$/, '')
    this.#options = options
  }

  async request<T = unknown>(method: string, path: string, call: Call = {}, options: RequestOptions = {}): Promise<T> {
    const body = call.body === undefined ? '' : JSON.stringify(call.body)
    const headers = this.#headers(method, call, body, options)
    const retries = options.maxRetries ?? this.#options.maxRetries ?? 3
    for (let attempt = 0; ; attempt++) {
      let retryAfter: string | null = null
      try {
        const response = await this.#send(method, address(this.#base, path, call.query), headers, call, body, options)
        const text = await this.#try(() => response.text(), options)
        if (response.ok) return answer(response, text, call) as T
        retryAfter = response.headers.get('Retry-After')
        throw refusal(response, text)
      } catch (e) {
        const seconds = pause(attempt, retryAfter)
        if (attempt >= retries || seconds > longest || !passes(e, !call.keyless || method !== 'POST')) throw e
        await sleep(seconds, options.signal)
      }
    }
  }

  /** Returns the headers of all attempts, which have one key: the server makes what they ask for once. */
  #headers(method: string, call: Call, body: string, options: RequestOptions): Headers {
    const { apiKey } = this.#options
    const headers = new Headers(options.headers)
    if (body !== '') headers.set('Content-Type', 'application/json')
    if (call.cookies) return headers // those of pages, which other headers would need permission for
    headers.set('X-Rail-Version', version)
    headers.set('User-Agent', `rail-typescript/${release}`)
    if (call.keyless) return headers
    if (!apiKey) throw new RailError('apiKey is required for this call')
    headers.set('Authorization', `Bearer ${apiKey}`)
    if (method === 'POST') headers.set('Idempotency-Key', options.idempotencyKey ?? crypto.randomUUID())
    if (method === 'GET' && this.#position) headers.set('Rail-Position', this.#position)
    return headers
  }

  /** Sends one attempt. */
  async #send(
    method: string, url: string, headers: Headers, call: Call, body: string, options: RequestOptions,
  ): Promise<Response> {
    const timeout = AbortSignal.timeout(options.timeout ?? this.#options.timeout ?? 30_000)
    const signal = options.signal ? AbortSignal.any([timeout, options.signal]) : timeout
    const init: RequestInit = { method, headers, signal, redirect: 'manual' } // the key is for this server alone
    if (body !== '') init.body = body
    if (call.cookies) init.credentials = 'include'
    if (this.#options.signRequests && !call.keyless) {
      const at = String(Math.floor(Date.now() / 1000))
      headers.set('Rail-Signature', `t=${at},v1=${await signature(this.#options.apiKey ?? '', at, body)}`)
    }
    const response = await this.#try(() => (this.#options.fetch ?? fetch)(url, init), options)
    const position = response.headers.get('Rail-Position') ?? ''
    if (rank(position) > rank(this.#position)) this.#position = position // a late answer may be of an earlier write
    return response
  }

  /** Turns the failures of fetch into errors of this package, except when the caller gave up. */
  async #try<T>(step: () => Promise<T>, options: RequestOptions): Promise<T> {
    try {
      return await step()
    } catch (cause) {
      if (options.signal?.aborted) throw options.signal.reason
      if ((cause as Error).name === 'TimeoutError') throw new TimeoutError('There was no answer in time.', { cause })
      throw new ConnectionError('The server cannot be reached, or the answer was lost.', { cause })
    }
  }
}

/** Returns the body of a success: null for none, text, or JSON. */
function answer(response: Response, text: string, call: Call): unknown {
  if (response.status === 204) return null
  if (call.text) return text
  const body = parsed(text)
  if (body === null) throw new APIError(response.status, null, response.headers.get('Rail-Request-Id'))
  return body
}

type Query = Record<string, unknown>
type Cursor<Page> = (page: Page, query: Query) => Query | null

/** Continues a list after the last item of a page, or before its first one. */
export function byItem(member: string): Cursor<{ data: object[], has_more: boolean }> {
  const at = (item: object | undefined) => (item as Query | undefined)?.[member]
  return (page, query) => {
    if (!page.has_more || page.data.length === 0) return null
    if (query.ending_before !== undefined) return { ...query, ending_before: at(page.data[0]) }
    return { ...query, offset: undefined, starting_after: at(page.data.at(-1)) } // the API takes only one of them
  }
}

/** Continues a feed from the cursor of a page. */
export const byPage: Cursor<{ cursor: string, caught_up: boolean }> = (page, query) =>
  page.caught_up ? null : { ...query, after: page.cursor }

export class List<Item, Page extends { data: Item[] }> {
  readonly #get: (query: Query) => Promise<Page>
  readonly #query: Query
  readonly #next: Cursor<Page>

  constructor(client: Client, path: string, query: object = {}, options: RequestOptions | undefined, next: Cursor<Page>) {
    this.#get = (query) => client.request('GET', path, { query }, options)
    this.#query = { ...query }
    this.#next = next
  }

  page(): Promise<Page> { return this.#get(this.#query) }

  async *pages(): AsyncGenerator<Page, void> {
    for (let query: Query | null = this.#query; query !== null;) {
      const page: Page = await this.#get(query)
      yield page
      query = this.#next(page, query)
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void> {
    const back = this.#query.ending_before !== undefined
    for await (const page of this.pages()) yield* back ? [...page.data].reverse() : page.data
  }

  async toArray(limit: number): Promise<Item[]> {
    const all: Item[] = []
    for await (const item of this) if (all.push(item) >= limit) break
    return all
  }
}

const encoder = new TextEncoder()

const hmacKey = (secret: string): Promise<CryptoKey> =>
  crypto.subtle.importKey('raw', encoder.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify'])

/** Returns the bytes that are signed: the time, a dot, and the body. */
function signed(at: string, body: string | Uint8Array): Uint8Array<ArrayBuffer> {
  const [begin, rest] = [encoder.encode(`${at}.`), typeof body === 'string' ? encoder.encode(body) : body]
  const all = new Uint8Array(begin.length + rest.length)
  all.set(begin)
  all.set(rest, begin.length)
  return all
}

async function signature(secret: string, at: string, body: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.sign('HMAC', await hmacKey(secret), signed(at, body)))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

export async function constructEvent(
  body: string | Uint8Array, header: string | null | undefined, secret: string, options: EventOptions = {},
): Promise<Event> {
  const { tolerance = 300, now = Date.now() } = options
  const pairs = (header ?? '').split(',').map((pair) => pair.trim().split('='))
  const at = pairs.find(([name]) => name === 't')?.[1] ?? ''
  if (!/^[0-9]{1,12}$/.test(at)) throw new SignatureError('Rail-Signature is missing, or has no time.')
  if (Math.abs(now / 1000 - Number(at)) > tolerance) throw new SignatureError('The signature is too old, or of the future.')
  const key = await hmacKey(secret)
  for (const [name, v1 = ''] of pairs) {
    if (name !== 'v1' || !/^[0-9a-f]{64}$/.test(v1)) continue
    const bytes = Uint8Array.from(v1.match(/../g) ?? [], (hex) => parseInt(hex, 16))
    if (await crypto.subtle.verify('HMAC', key, bytes, signed(at, body))) {
      return JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body)) as Event
    }
  }
  throw new SignatureError('No signature is that of this body and secret.')
}
