// Tests of the runtime with answers that are made up: node --test runtime.mjs.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import {
  APIError, ConflictError, ConnectionError, InvalidRequestError, NotFoundError, Rail, RailError, RateLimitError, ServerError,
  SignatureError, TimeoutError, webhooks,
} from 'rail-client'

const again = { 'Retry-After': '0' }
const json = (status, body, headers) => () => new Response(JSON.stringify(body), { status, headers })
const refused = (status, type, code, headers) =>
  json(status, { error: { type, code, message: 'No.', param: 'x', request_id: 'req_1' }, existing: { id: 'part_1' } }, headers)
const lost = () => { throw new TypeError('fetch failed') }

/** Returns a client whose requests get answers in turn, and the requests. */
function scripted(answers, options = {}) {
  const sent = []
  const fetch = (url, init) => {
    sent.push({ url, ...init, headers: new Headers(init.headers) })
    const answer = answers[Math.min(sent.length, answers.length) - 1]
    return Promise.resolve(init).then(answer)
  }
  return [new Rail({ baseURL: 'http://rail.test/', apiKey: 'rail_live_1', fetch, ...options }), sent]
}

const tag = { program_id: 'prg_1', name: 'Gold' }

test('a call is repeated with one key', async () => {
  const [rail, sent] = scripted([
    refused(429, 'rate_limit_error', 'rate_limit_exceeded', again), lost,
    refused(409, 'conflict_error', 'idempotency_in_progress', again), json(200, { id: 'tag_1' }),
  ])
  assert.equal((await rail.tags.create(tag, { maxRetries: 3 })).id, 'tag_1')
  assert.equal(sent.length, 4)
  assert.equal(new Set(sent.map((s) => s.headers.get('Idempotency-Key'))).size, 1)
  assert.deepEqual(JSON.parse(sent[3].body), tag)
  await rail.tags.create(tag, { idempotencyKey: 'mine', headers: { traceparent: '00-1' } })
  assert.equal(sent[4].headers.get('Idempotency-Key'), 'mine')
  assert.equal(sent[4].headers.get('traceparent'), '00-1')
})

test('two calls have two keys', async () => {
  const [rail, sent] = scripted([json(200, { id: 'tag_1' })])
  await rail.tags.create(tag)
  await rail.tags.create(tag)
  assert.notEqual(sent[0].headers.get('Idempotency-Key'), sent[1].headers.get('Idempotency-Key'))
})

test('retries end', async () => {
  const [rail, sent] = scripted([() => new Response('<html>', { status: 502, headers: again })])
  await assert.rejects(rail.programs.retrieve('prg_1'), (e) => e instanceof APIError && e.code === null && e.status === 502)
  assert.equal(sent.length, 4)
  const [down, tries] = scripted([refused(503, 'api_error', 'unavailable', again)], { maxRetries: 0 })
  await assert.rejects(down.programs.retrieve('prg_1'), ServerError)
  assert.equal(tries.length, 1)
})

test('a long wait is left to the caller', async () => {
  const [rail, sent] = scripted([refused(429, 'rate_limit_error', 'rate_limit_exceeded', { 'Retry-After': '3600' })])
  await assert.rejects(rail.programs.retrieve('prg_1'), RateLimitError)
  assert.equal(sent.length, 1)
})

test('errors have classes and are not repeated', async () => {
  for (const [status, type, kind] of [
    [409, 'conflict_error', ConflictError], [404, 'not_found_error', NotFoundError],
    [400, 'invalid_request_error', InvalidRequestError], [418, 'new_error', APIError],
  ]) {
    const [rail, sent] = scripted([refused(status, type, 'a_code')])
    const e = await rail.tags.create(tag).catch((e) => e)
    assert.equal(e.constructor, kind)
    assert.deepEqual([e.status, e.code, e.param, e.requestId, e.existing.id, e.name, sent.length],
      [status, 'a_code', 'x', 'req_1', 'part_1', kind.name, 1])
  }
})

test('a page of a proxy is no answer', async () => {
  const [rail] = scripted([() => new Response('<html>', { status: 200 })])
  await assert.rejects(rail.programs.retrieve('prg_1'), APIError)
})

test('a redirect is not followed', async () => {
  const [rail, sent] = scripted([() => new Response(null, { status: 302, headers: { Location: 'https://other.test/' } })])
  await assert.rejects(rail.programs.retrieve('prg_1'), (e) => e instanceof APIError && e.status === 302)
  assert.equal(sent[0].redirect, 'manual')
})

test('a lost answer is an error of the connection', async () => {
  const [rail] = scripted([lost], { maxRetries: 0 })
  await assert.rejects(rail.programs.retrieve('prg_1'), (e) => e instanceof ConnectionError && e.cause instanceof TypeError)
  // Also one that is cut in its body.
  const cut = () => new Response(new ReadableStream({ pull(c) { c.error(new TypeError('terminated')) } }))
  const [half, sent] = scripted([cut, json(200, { id: 'prg_1' })])
  assert.equal((await half.programs.retrieve('prg_1')).id, 'prg_1')
  assert.equal(sent.length, 2)
})

const never = (init) => new Promise((_, reject) => {
  init.signal.addEventListener('abort', () => reject(init.signal.reason))
})

test('an attempt has a timeout', async () => {
  const [rail] = scripted([never], { timeout: 20, maxRetries: 0 })
  const keep = setTimeout(() => {}, 5000) // signals of timeouts do not keep Node running
  await assert.rejects(rail.programs.retrieve('prg_1'), TimeoutError)
  clearTimeout(keep)
})

test('the caller can give up', async () => {
  const [rail, sent] = scripted([never])
  const reason = new Error('enough')
  const controller = new AbortController()
  setTimeout(() => controller.abort(reason), 20)
  await assert.rejects(rail.programs.retrieve('prg_1', {}, { signal: controller.signal }), reason)
  assert.equal(sent.length, 1)
  // Also between attempts.
  const waiting = new AbortController()
  const [busy, tries] = scripted([(init) => {
    setTimeout(() => waiting.abort(reason), 20)
    return refused(503, 'api_error', 'unavailable', { 'Retry-After': '30' })(init)
  }])
  await assert.rejects(busy.programs.retrieve('prg_1', {}, { signal: waiting.signal }), reason)
  assert.equal(tries.length, 1)
})

test('an id is one part of the path', async () => {
  const [rail, sent] = scripted([json(200, {})])
  for (const id of ['', '.', '..', undefined]) await assert.rejects(rail.partners.delete(id), RailError)
  assert.equal(sent.length, 0)
  await rail.partners.retrieve('../sales?x=1#')
  assert.equal(sent[0].url, 'http://rail.test/v1/partners/..%2Fsales%3Fx%3D1%23')
})

test('a query is written as the API reads it', async () => {
  const [rail, sent] = scripted([json(200, { data: [], has_more: false })])
  const query = { program_id: 'prg_1', status: ['active', 'pending'], expand: ['group'], limit: 5, email: undefined }
  await rail.partners.list(query).page()
  assert.equal(new URL(sent[0].url).search, '?program_id=prg_1&status=active%2Cpending&expand=group&limit=5')
})

const page = (ids, has_more) => json(200, { data: ids.map((id) => ({ id })), has_more, total_count: 9 })

test('a list continues after its last item', async () => {
  const [rail, sent] = scripted([page(['a', 'b'], true), page(['c', 'd'], true), page(['e'], false)])
  const list = rail.sales.list({ program_id: 'prg_1', limit: 2 })
  assert.equal(sent.length, 0)
  const ids = []
  for await (const sale of list) ids.push(sale.id)
  assert.deepEqual(ids, ['a', 'b', 'c', 'd', 'e'])
  assert.deepEqual(sent.map((s) => new URL(s.url).searchParams.get('starting_after')), [null, 'b', 'd'])
})

test('a list from an offset continues after its last item', async () => {
  const [rail, sent] = scripted([page(['a', 'b'], true), page(['c'], false)])
  assert.equal((await rail.riskFlags.list({ program_id: 'prg_1', offset: 50 }).toArray(9)).length, 3)
  assert.deepEqual(sent.map((s) => new URL(s.url).search),
    ['?program_id=prg_1&offset=50', '?program_id=prg_1&starting_after=b'])
})

test('an array takes no more pages than it needs', async () => {
  const [rail, sent] = scripted([page(['a', 'b'], true), page(['c', 'd'], true)])
  assert.deepEqual((await rail.sales.list({ program_id: 'prg_1' }).toArray(4)).map((s) => s.id), ['a', 'b', 'c', 'd'])
  assert.equal(sent.length, 2)
})

test('a list before an item goes to newer objects, the nearest first', async () => {
  const [rail, sent] = scripted([page(['c', 'd'], true), page(['a', 'b'], false)])
  const sales = await rail.sales.list({ program_id: 'prg_1', ending_before: 'e' }).toArray(9)
  assert.deepEqual(sales.map((s) => s.id), ['d', 'c', 'b', 'a'])
  assert.deepEqual(sent.map((s) => new URL(s.url).searchParams.get('ending_before')), ['e', 'c'])
})

test('the feed continues from its cursor, and the catalogue from a name', async () => {
  const feed = (data, cursor, caught_up) => json(200, { object: 'event_feed', data, cursor, caught_up })
  const [rail, sent] = scripted([feed([{ id: 'evt_1' }], 'c1', false), feed([], 'c2', true)])
  assert.equal((await rail.events.follow().toArray(9)).length, 1)
  assert.equal(new URL(sent[1].url).searchParams.get('after'), 'c1')
  const [other, asked] = scripted([json(200, { data: [{ type: 'sale.created' }], has_more: true }), page([], false)])
  await other.webhookEvents.list().toArray(9)
  assert.equal(new URL(asked[1].url).searchParams.get('starting_after'), 'sale.created')
})

test('reads see the writes before them', async () => {
  const [rail, sent] = scripted([json(200, { id: 'tag_1' }, { 'Rail-Position': '1-a' }), json(200, {})])
  await rail.tags.create(tag)
  await rail.tags.retrieve('tag_1')
  assert.equal(sent[1].headers.get('Rail-Position'), '1-a')
})

test('an answer that arrives late does not replace the position of a later write', async () => {
  const positions = ['1-ff', '1-fe', '1-100', '2-1', '1-200', '10-1', '9-2']
  const [rail, sent] = scripted(positions.flatMap((p) => [json(200, {}, { 'Rail-Position': p }), json(200, {})]))
  for (const _ of positions) {
    await rail.tags.create(tag)
    await rail.tags.retrieve('tag_1')
  }
  assert.deepEqual(sent.filter((s) => s.method === 'GET').map((s) => s.headers.get('Rail-Position')),
    ['1-ff', '1-ff', '1-100', '2-1', '2-1', '10-1', '10-1'])
})

test('a secret key is refused in a browser', async () => {
  Object.assign(globalThis, { window: {}, document: {} })
  try {
    assert.throws(() => scripted([]), /browser/)
    scripted([], { dangerouslyAllowBrowser: true })
    const [rail, sent] = scripted([() => new Response(null, { status: 204 })], { apiKey: undefined })
    assert.equal(await rail.browser.retrieveAttribution({ key: 'rail_pub_1' }), null)
    assert.deepEqual([...sent[0].headers], [])
    assert.equal(sent[0].credentials, 'include')
    await assert.rejects(rail.tags.retrieve('tag_1'), /apiKey/)
  } finally {
    delete globalThis.window
    delete globalThis.document
  }
})

test('text is returned as it is', async () => {
  const [rail, sent] = scripted([() => new Response('# Rail')], { apiKey: undefined })
  assert.equal(await rail.documents.retrieveLLMsText(), '# Rail')
  assert.equal(sent[0].headers.get('Authorization'), null)
})

const sign = (secret, at, body) => `t=${at},v1=${createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')}`

test('requests can be signed', async () => {
  const [rail, sent] = scripted([json(200, {})], { signRequests: true })
  await rail.tags.create(tag)
  const header = sent[0].headers.get('Rail-Signature')
  assert.equal(header, sign('rail_live_1', /^t=(\d+)/.exec(header)[1], sent[0].body))
})

test('webhooks are verified', async () => {
  const [secret, body, at] = ['whsec_a', '{"type":"sale.created"}', 1_000_000]
  const options = { now: at * 1000 }
  const good = sign(secret, at, body)
  assert.equal((await webhooks.constructEvent(body, good, secret, options)).type, 'sale.created')
  const bytes = new TextEncoder().encode(body)
  assert.equal((await webhooks.constructEvent(bytes, good, secret, options)).type, 'sale.created')
  // A secret was rotated.
  await webhooks.constructEvent(body, `${sign('whsec_b', at, body)}, ${good.split(',')[1]}`, secret, options)
  for (const header of [
    null, undefined, '', 'x', 't=,v1=', `t=${at}`, good.replace('t=', 't=z'), good.replace('v1', 'v2'), good.toUpperCase(),
    good.slice(0, -1), `${good}0`, sign('whsec_b', at, body), sign(secret, at - 301, body), sign(secret, at + 301, body),
    `t=${at},v1=${'z'.repeat(64)}`, `t=${at},v1=é`, ',,,=,=',
  ]) {
    await assert.rejects(webhooks.constructEvent(body, header, secret, options), SignatureError, String(header))
  }
  await webhooks.constructEvent(body, sign(secret, at - 400, body), secret, { ...options, tolerance: 500 })
})
