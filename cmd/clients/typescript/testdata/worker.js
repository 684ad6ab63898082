// Runs in worker_host.mjs, without any global of Node.
import { Rail, webhooks } from 'rail-client'

const answers = {
  'GET /v1/sales': { data: [{ id: 'sale_1' }, { id: 'sale_2' }], has_more: false, total_count: 2 },
  'POST /v1/tags': { id: 'tag_1', name: 'Gold' },
}
const rail = new Rail({
  baseURL: 'https://rail.test', apiKey: 'rail_live_1', signRequests: true,
  fetch: async (url, init) => new Response(JSON.stringify(answers[`${init.method} ${new URL(url).pathname}`])),
})

async function run() {
  const sales = await rail.sales.list({ program_id: 'prg_1' }).toArray(10)
  const tag = await rail.tags.create({ program_id: 'prg_1', name: 'Gold' })
  const body = '{"type":"sale.created"}'
  const header = 't=1000000,v1=' + signature
  const event = await webhooks.constructEvent(body, header, 'whsec_a', { now: 1_000_000_000 })
  return `${sales.length} sales, ${tag.id === 'tag_1' ? 1 : 0} tag, ${event.type}`
}

run().then(done, failed)
