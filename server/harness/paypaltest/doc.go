// Package paypaltest is a fake of PayPal's Payouts API for tests. It follows version 1.9 of PayPal's public
// description of the API (paypal/paypal-rest-api-specifications, openapi/payments_payouts_batch_v1.json) and
// version 1.11 of the description of webhooks. It keeps batches and items, moves them through their states by an
// injected clock, signs and delivers webhooks, and fails on request or by a seeded plan. Paid reports the money
// that left, so that a test can assert that each payout was paid once.
//
// Facts that are not in the descriptions, as PayPal's sandbox was seen to behave:
//   - The answer to a repeated sender_batch_id has its link in details[0].link, not in links, and the link names
//     another host than the API's (Config.LinkBase).
//   - The header PayPal-Request-Id prevents no duplicate. Only sender_batch_id does, for 30 days. A repeated
//     sender_item_id in another batch is paid again.
//   - The certificate of webhooks is issued for messageverificationcerts.paypal.com.
//   - A reversal has no event: only a poll shows it.
//
// Limits:
//   - It is stricter than PayPal: it refuses unknown members and amounts with fewer decimals than the currency has,
//     and the text of a message and a note together is at most 1,000 characters.
//   - A batch that is pending shows no items yet. A denied or canceled batch has items that failed.
//   - There is one account. Fees are 2 % in the currency of the account, without conversion.
//   - Selection by fields is by the first name of each path. Webhooks can be created, listed and deleted, not changed.
//   - Currencies that PayPal pays only within a country are refused with NON_HOLDING_CURRENCY.
package paypaltest
