// The whole main job, as an integration would do it: a program with a partner and
// a rule, a click that becomes a customer, sales that are safe to repeat, a list
// walked to its end, a balance and a refund. ../main.go does the same.
//
//   npm install
//   export RAIL_BASE_URL=http://127.0.0.1:8080 RAIL_API_KEY=rail_live_…
//   npm run types && npm run build && npm start
import createClient from 'openapi-fetch'
import type { components, paths } from './api.js'

declare const process: { env: Record<string, string | undefined> }

type Schemas = components['schemas']
type Refused = { error: Schemas['Error'] }

/** An answer that is no success. Branch on its code; its message is for people. */
class Refusal extends Error {
  constructor(readonly status: number, readonly code: Schemas['ErrorCode'], message: string, readonly param?: string) {
    super(`${status} ${code}: ${message}`)
  }
}

/** Returns the body of an answer, or throws what was refused. */
async function must<T>(call: Promise<{ data?: T, error?: Refused, response: Response }>): Promise<T> {
  const { data, error, response } = await call
  if (data !== undefined) return data
  if (error?.error?.code === undefined) throw new Error(`status ${response.status}`) // not from Rail: a proxy's page
  throw new Refusal(response.status, error.error.code, error.error.message, error.error.param)
}

/** Returns the code that a call is refused with. */
async function codeOf(call: Promise<unknown>): Promise<Schemas['ErrorCode']> {
  try {
    await call
  } catch (e) {
    if (e instanceof Refusal) return e.code
    throw e
  }
  throw new Error('it was not refused')
}

function variable(name: string): string {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set`)
  return value
}

const rail = createClient<paths, 'application/json'>({
  baseUrl: variable('RAIL_BASE_URL'),
  headers: { Authorization: `Bearer ${variable('RAIL_API_KEY')}` },
})

/** Records a sale. A charge makes one sale, whoever repeats it; the key also replays the answer. */
function sell(program_id: string, customer_id: string, charge: string): Promise<Schemas['Sale']> {
  return must(rail.POST('/v1/sales', {
    params: { header: { 'Idempotency-Key': `${program_id}/${charge}` } },
    body: { program_id, customer_id, external_charge_id: charge, amount_minor: 4999, currency: 'USD' },
  }))
}

/** Walks the sales of a program, a page at a time. */
async function* pages(program_id: string, limit: number): AsyncGenerator<Schemas['Sale'][]> {
  for (let after: string | undefined; ;) {
    const query = { program_id, limit, ...(after === undefined ? {} : { starting_after: after }) }
    const page = await must(rail.GET('/v1/sales', { params: { query } }))
    yield page.data
    after = page.data.at(-1)?.id
    if (!page.has_more) return
  }
}

async function due(program_id: string, partner_id: string): Promise<number> {
  const balances = await must(rail.GET('/v1/balances', { params: { query: { program_id, partner_id } } }))
  return balances.data.reduce((sum, balance) => sum + balance.due_minor, 0) // one a currency
}

const program = await must(rail.POST('/v1/programs', {
  body: { name: 'Acme partners', website_url: 'https://acme.example', currency: 'USD', holding_period_days: 0 },
}))
const partner = await must(rail.POST('/v1/partners', { body: { program_id: program.id, email: 'ada@example.com', handle: 'ada' } }))
const handle_refused = await codeOf(must(rail.POST('/v1/partners', {
  body: { program_id: program.id, email: 'another@example.com', handle: 'ada' },
})))
await must(rail.POST('/v1/flows', { body: { program_id: program.id, name: 'Everyone', rate_type: 'percent', rate_value: 2000 } }))

const click = await must(rail.POST('/v1/clicks', {
  body: { program_id: program.id, value: 'ada', landing_url: 'https://acme.example/?ref=ada', visitor_token: 'visitor-0001' },
}))
const customer = await must(rail.POST('/v1/customers', {
  body: { program_id: program.id, click_id: click.id, email: 'buyer@example.org' },
}))

let last: Schemas['Sale'] | undefined
for (let i = 0; i < 5; i++) {
  last = await sell(program.id, customer.id, `ch_${i}`)
  const again = await sell(program.id, customer.id, `ch_${i}`) // as after an answer that was lost
  if (again.id !== last.id) throw new Error(`ch_${i} was recorded twice: ${last.id} and ${again.id}`)
}
if (last === undefined) throw new Error('nothing was sold')

const walked = { sales: 0, pages: 0 }
for await (const page of pages(program.id, 2)) {
  walked.sales += page.length
  walked.pages++
}

const due_minor = await due(program.id, partner.id)
await must(rail.POST('/v1/sales/{id}/refund', { params: { path: { id: last.id } }, body: {} }))
const due_after_refund_minor = await due(program.id, partner.id)
const unknown_refused = await codeOf(must(rail.GET('/v1/sales/{id}', { params: { path: { id: 'sale_none' } } })))

console.log(JSON.stringify({
  program_id: program.id, ...walked, due_minor, due_after_refund_minor, handle_refused, unknown_refused,
}))
