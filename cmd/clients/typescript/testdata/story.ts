// The story of ../../story/README.md.
import { APIError, ConflictError, NotFoundError, Rail, SignatureError, webhooks } from 'rail-client'

declare const process: { env: Record<string, string | undefined> }

function variable(name: string): string {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set`)
  return value
}

/** Returns the error of a call. */
async function refused(call: Promise<unknown>): Promise<APIError> {
  const e = await call.then(() => null, (e: unknown) => e)
  if (!(e instanceof APIError)) throw e ?? new Error('the call was not refused')
  return e
}

const rail = new Rail({ baseURL: variable('RAIL_BASE_URL'), apiKey: variable('RAIL_API_KEY') })

const program = await rail.programs.create({
  name: 'Story', website_url: 'https://acme.example', currency: 'USD', holding_period_days: 30,
})
const program_id = program.id
const endpoint = await rail.webhookEndpoints.create({
  program_id, url: variable('RAIL_WEBHOOK_URL'), event_types: ['sale.created'],
})
const partner = await rail.partners.create({ program_id, email: 'ada@example.com', handle: 'ada' })
await rail.flows.create({ program_id, name: 'Everyone', rate_type: 'percent', rate_value: 2000 })
const link = await rail.links.create({
  program_id, partner_id: partner.id, value: 'spring', destination_url: 'https://acme.example/spring',
})
const duplicate = await refused(rail.partners.create({ program_id, email: 'ada@example.com' }))

const click = await rail.clicks.create({
  program_id, value: link.value, landing_url: 'https://acme.example/spring?ref=spring', visitor_token: 'visitor-0001',
})
const customer = await rail.customers.create({ program_id, click_id: click.id, email: 'buyer@example.org' })
for (let i = 0; i < 5; i++) {
  await rail.sales.create({
    program_id, customer_id: customer.id, external_charge_id: `ch_${i}`, amount_minor: 4999, currency: 'USD',
  })
}
const sales = new Set<string>()
for await (const sale of rail.sales.list({ program_id, limit: 2 })) sales.add(sale.id)

const tag = await rail.tags.create({ program_id, name: 'Lost' })
const retrieved = await rail.programs.retrieve(program_id)
const unknown = await refused(rail.sales.retrieve('sale_none'))

const delivery = await (await fetch(variable('RAIL_DELIVERY_URL'))).json() as { body: string, headers: Record<string, string> }
const header = delivery.headers['Rail-Signature']
const secret = endpoint.secret ?? ''
const event = await webhooks.constructEvent(delivery.body, header, secret)
if (event.type !== 'sale.created') throw new Error(event.type)
const forgery = await webhooks.constructEvent(delivery.body + ' ', header, secret).catch((e: unknown) => e)

const { now } = await rail.testClock.retrieve()
await rail.testClock.set({ now: new Date(Date.parse(now) + 92 * 86_400_000).toISOString() })
let due_minor = 0
for await (const balance of rail.balances.list({ program_id })) due_minor += balance.due_minor

console.log(JSON.stringify({
  program_id, duplicate: duplicate.code, duplicate_param: duplicate.param, conflict: duplicate instanceof ConflictError,
  sales: sales.size, tag_id: tag.id, program_name: retrieved.name,
  unknown: unknown.code, not_found: unknown instanceof NotFoundError,
  event_type: event.type, event_charge: event.data.external_charge_id, event_amount_minor: event.data.amount_minor,
  forgery_refused: forgery instanceof SignatureError, due_minor,
}))
