// The whole main job, as an integration would do it: a program with a partner and
// a rule, a click that becomes a customer, sales that are safe to repeat, a list
// walked to its end, a balance and a refund. ../main.go does the same.
//
//   npm install
//   export RAIL_BASE_URL=http://127.0.0.1:8080 RAIL_API_KEY=rail_live_…
//   npm run build && npm start
import { APIError, Rail, type ErrorCode, type Sale } from 'rail-client'

declare const process: { env: Record<string, string | undefined> }

function variable(name: string): string {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set`)
  return value
}

const rail = new Rail({ baseURL: variable('RAIL_BASE_URL'), apiKey: variable('RAIL_API_KEY') })

/** Returns the code that a call is refused with. */
async function codeOf(call: Promise<unknown>): Promise<ErrorCode | null> {
  try {
    await call
  } catch (e) {
    if (e instanceof APIError) return e.code
    throw e
  }
  throw new Error('it was not refused')
}

/** Records a sale. A charge makes one sale, whoever repeats it; the key also replays the answer. */
function sell(program_id: string, customer_id: string, charge: string): Promise<Sale> {
  const sale = { program_id, customer_id, external_charge_id: charge, amount_minor: 4999, currency: 'USD' }
  return rail.sales.create(sale, { idempotencyKey: `${program_id}/${charge}` })
}

async function due(program_id: string, partner_id: string): Promise<number> {
  let sum = 0
  for await (const balance of rail.balances.list({ program_id, partner_id })) sum += balance.due_minor // one a currency
  return sum
}

const program = await rail.programs.create({
  name: 'Acme partners', website_url: 'https://acme.example', currency: 'USD', holding_period_days: 0,
})
const partner = await rail.partners.create({ program_id: program.id, email: 'ada@example.com', handle: 'ada' })
const handle_refused = await codeOf(rail.partners.create({
  program_id: program.id, email: 'another@example.com', handle: 'ada',
}))
await rail.flows.create({ program_id: program.id, name: 'Everyone', rate_type: 'percent', rate_value: 2000 })

const click = await rail.clicks.create({
  program_id: program.id, value: 'ada', landing_url: 'https://acme.example/?ref=ada', visitor_token: 'visitor-0001',
})
const customer = await rail.customers.create({
  program_id: program.id, click_id: click.id, email: 'buyer@example.org',
})

let last: Sale | undefined
for (let i = 0; i < 5; i++) {
  last = await sell(program.id, customer.id, `ch_${i}`)
  const again = await sell(program.id, customer.id, `ch_${i}`) // as after a restart
  if (again.id !== last.id) throw new Error(`ch_${i} was recorded twice: ${last.id} and ${again.id}`)
}
if (last === undefined) throw new Error('nothing was sold')

const walked = { sales: 0, pages: 0 }
for await (const page of rail.sales.list({ program_id: program.id, limit: 2 }).pages()) {
  walked.sales += page.data.length
  walked.pages++
}

const due_minor = await due(program.id, partner.id)
await rail.sales.refund(last.id)
const due_after_refund_minor = await due(program.id, partner.id)
const unknown_refused = await codeOf(rail.sales.retrieve('sale_none'))

console.log(JSON.stringify({
  program_id: program.id, ...walked, due_minor, due_after_refund_minor, handle_refused, unknown_refused,
}))
