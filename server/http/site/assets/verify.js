// The page /verify: checks signed statements by the rules of package proof, without sending them.
const form = document.querySelector('[data-verify]')
const utf8 = text => new TextEncoder().encode(text)
const raw = base64 => Uint8Array.from(atob(base64), c => c.charCodeAt(0))
const sha256 = async text => Array.from(new Uint8Array(await crypto.subtle.digest('SHA-256', utf8(text))),
  b => b.toString(16).padStart(2, '0')).join('')

// RFC 8785. JSON.stringify formats numbers and strings by it, sort orders names by it.
function canonical (v) {
  if (Array.isArray(v)) return '[' + v.map(canonical) + ']'
  if (!v || typeof v !== 'object') return JSON.stringify(v)
  return '{' + Object.keys(v).sort().map(k => JSON.stringify(k) + ':' + canonical(v[k])) + '}'
}

function read (text) {
  const file = JSON.parse(text)
  const { version, number, issued_at: at, partner, payout } = file.statement
  if (version === 1 && number.split && Date.parse(at) && partner.id && money(payout)) return file
  throw new Error('not a statement')
}

// Each check returns [whether it is good, or null if it was not made; a sentence].
async function signature (file, keys) {
  const key = keys.find(k => k.id === file.key_id)
  if (!key) return [false, `Key ${file.key_id} is not published.`]
  let good
  try {
    const imported = await crypto.subtle.importKey('raw', raw(key.public_key), 'Ed25519', false, ['verify'])
    good = await crypto.subtle.verify('Ed25519', imported, raw(file.signature), utf8(canonical(file.statement)))
  } catch (e) {
    if (e.name === 'NotSupportedError') return [null, 'This browser cannot check Ed25519 signatures. Use a newer one.']
    good = false // it is not base64
  }
  if (!good) return [false, `The statement was changed, or key ${key.id} did not sign it.`]
  const at = Date.parse(file.statement.issued_at)
  if (at < Date.parse(key.created_at) || key.retired_at && at > Date.parse(key.retired_at)) {
    return [false, `Key ${key.id} was not valid at that time.`]
  }
  return [true, `Signed by key ${key.id}, unchanged.`]
}

async function lines ({ statement, lines }) {
  if (!lines) return [null, 'The file has no lines.']
  if (lines.length !== statement.lines_count) {
    return [false, `The file has ${lines.length} lines, the statement ${statement.lines_count}.`]
  }
  const hash = await sha256(lines.map(line => canonical(line) + '\n').join(''))
  return hash === statement.lines_hash
    ? [true, `Lines: ${lines.length}, complete and unchanged.`]
    : [false, 'A line was changed, or the order of lines.']
}

async function chain (file, earlier) {
  const hash = file.statement.previous_hash
  if (!hash && !earlier) return [true, 'The partner’s first statement.']
  if (!earlier) return [null, 'Add the statement before it to check for gaps.']
  const { number } = earlier.statement
  return hash === await sha256(canonical(earlier.statement))
    ? [true, `Follows ${number}.`]
    : [false, `Does not follow ${number}: one was changed, or is missing.`]
}

async function order ({ statement, lines }, id) {
  const hash = await sha256(statement.salt + ':' + id)
  const at = lines?.findIndex(line => line.order_hash === hash) ?? -1
  return at < 0 ? [null, `Order ${id} is not on it.`] : [true, `Order ${id} is on line ${at + 1}: ${money(lines[at])}.`]
}

function money ({ amount_minor: minor, currency }) {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency })
  return format.format(minor / 10 ** format.resolvedOptions().maximumFractionDigits)
}

const element = (tag, textContent, className) => Object.assign(document.createElement(tag), { textContent, className })

const state = good => good ? 'good' : good === null ? 'open' : 'bad'

function card (title, about, checks) {
  const whole = state(!checks.some(([good]) => good === false) && checks[0][0])
  const made = element('section', '', 'card verified ' + whole)
  const list = element('ul', '', '')
  list.append(...checks.map(([good, text]) => element('li', text, state(good))))
  made.append(element('h2', title + { good: ': valid', open: ': not checked', bad: ': not valid' }[whole]),
    element('p', about, 'aside'), list)
  return made
}

async function published (files) {
  const saved = form.elements.keys.files[0]
  if (saved) return JSON.parse(await saved.text()).keys
  const keys = []
  for (const id of new Set(files.map(file => file.key_id))) {
    keys.push(...(await (await fetch(form.dataset.verify + '?id=' + encodeURIComponent(id))).json()).keys)
  }
  return keys
}

async function check () {
  const { files: dropped, text: pasted, order: receipt } = form.elements
  const texts = await Promise.all(Array.from(dropped.files, async file => [file.name, await file.text()]))
  if (pasted.value.trim()) texts.push(['The pasted text', pasted.value])
  const [cards, files] = [[], []]
  for (const [from, text] of texts) {
    try { files.push(read(text)) } catch { cards.push(card(from, '', [[false, 'This is not a signed statement.']])) }
  }
  // By time, then by number without the prefix.
  const place = ({ statement: s }) => [new Date(s.issued_at).toISOString(), ...s.number.split('-').slice(-2)].join()
  files.sort((a, b) => place(a) < place(b) ? -1 : 1)
  const keys = await published(files).catch(() => [])
  const last = {}
  for (const file of files) {
    const { number, partner, payout, issued_at: at } = file.statement
    const checks = [await signature(file, keys), await lines(file), await chain(file, last[partner.id])]
    if (receipt.value) checks.push(await order(file, receipt.value.trim()))
    last[partner.id] = file
    cards.push(card(number, `${money(payout)} to ${partner.name}, issued on ${at.slice(0, 10)}`, checks))
  }
  document.querySelector('[data-verified]').replaceChildren(...cards)
}

if (crypto.subtle) form.hidden = false
else document.querySelector('[data-unsafe]').hidden = false
form.addEventListener('submit', event => {
  event.preventDefault()
  check()
})
form.addEventListener('change', check)
