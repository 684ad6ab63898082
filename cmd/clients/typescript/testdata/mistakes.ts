// Each line is wrong, and the compiler must say so. Otherwise types that are too wide would pass.
import { APIError, type Event, Rail } from 'rail-client'

declare const rail: Rail, event: Event, error: unknown

// @ts-expect-error: an amount is a number
void rail.sales.create({ program_id: 'p', external_charge_id: 'c', amount_minor: '1', currency: 'USD' })
// @ts-expect-error: a member is missing
void rail.partners.create({ program_id: 'p' })
// @ts-expect-error: the member is not known
void rail.partners.create({ program_id: 'p', mail: 'ada@example.com' })
// @ts-expect-error: the value is not one of the enumeration
void rail.flows.create({ program_id: 'p', name: 'n', rate_type: 'share', rate_value: 1 })
// @ts-expect-error: the query is required
void rail.partners.list()
// @ts-expect-error: the status is not known
void rail.partners.list({ program_id: 'p', status: ['aproved'] })
// @ts-expect-error: the id is missing
void rail.partners.retrieve()
// @ts-expect-error: the method is not known
void rail.partners.remove('part_1')
// @ts-expect-error: the answer may be null
void rail.browser.retrieveAttribution({ key: 'k' }).then((answer) => answer.partner)
// @ts-expect-error: a list is no promise
void rail.partners.list({ program_id: 'p' }).then()
// @ts-expect-error: the address is missing
void new Rail({ apiKey: 'k' })
// @ts-expect-error: the code is not in the list
if (error instanceof APIError && error.code === 'partner_mail_taken') throw error
// @ts-expect-error: the data is that of another type
if (event.type === 'sale.created') console.log(event.data.payout_id)
if (event.type === 'payout.paid') console.log(event.data.payout_id)
