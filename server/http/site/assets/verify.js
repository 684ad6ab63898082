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
async function signature (file, find) {
  const key = await find(file.key_id)
  if (key === null) return [null, 'Could not be checked: keys unavailable.']
  if (!key) return [false, `Key ${file.key_id} is not published.`]
  let imported
  try {
    imported = await crypto.subtle.importKey('raw', raw(key.public_key), 'Ed25519', false, ['verify'])
  } catch (e) {
    return [null, e.name === 'NotSupportedError'
      ? 'This browser cannot check Ed25519 signatures. Use a newer one.'
      : `Could not be checked: key ${key.id} is damaged.`]
  }
  let good = false
  try {
    good = await crypto.subtle.verify('Ed25519', imported, raw(file.signature), utf8(canonical(file.statement)))
  } catch { /* The signature is not base64. */ }
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
  if (!lines) return [null, `Order ${id} was not looked up: the file has no lines.`]
  const hash = await sha256(statement.salt + ':' + id)
  const at = lines.findIndex(line => line.order_hash === hash)
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

// Returns a function that finds a key: undefined if it is not published, null if that cannot be read.
function finder () {
  const saved = form.elements.keys.files[0]
  const texts = {}
  return async id => {
    try {
      texts[saved ? '' : id] ??= saved ? saved.text() : fetch(form.dataset.verify + '?id=' + encodeURIComponent(id))
        .then(answer => { if (answer.ok) return answer.text() })
      const { keys, has_more: more } = JSON.parse(await texts[saved ? '' : id])
      const key = keys.find(k => k.id === id)
      if (key ? isNaN(Date.parse(key.created_at)) : more) return null
      return key
    } catch { return null }
  }
}

// A file that was given twice has one place among the statements of its partner: that of its number.
async function result (file, find, last, receipt) {
  const { number, partner, payout, issued_at: at } = file.statement
  const before = last[partner.id]
  const earlier = before?.file.statement.number === number ? before.earlier : before?.file
  const checks = [await signature(file, find), await lines(file), await chain(file, earlier)]
  if (receipt) checks.push(await order(file, receipt))
  last[partner.id] = { file, earlier }
  return card(number, `${money(payout)} to ${partner.name}, issued on ${at.slice(0, 10)}`, checks)
}

let run = 0

async function check () {
  const mine = ++run
  const { files: dropped, text: pasted, order: receipt } = form.elements
  const texts = await Promise.all(Array.from(dropped.files, async file =>
    [file.name, await file.text().catch(() => '')]))
  if (pasted.value.trim()) texts.push(['The pasted text', pasted.value])
  const [cards, files] = [[], []]
  const refuse = from => cards.push(card(from, '', [[false, 'This is not a signed statement.']]))
  for (const [from, text] of texts) {
    try { files.push(Object.assign(read(text), { from })) } catch { refuse(from) }
  }
  // By time, then by number without the prefix.
  const place = ({ statement: s }) => [new Date(s.issued_at).toISOString(), ...s.number.split('-').slice(-2)].join()
  files.sort((a, b) => place(a) < place(b) ? -1 : 1)
  const find = finder()
  const last = {}
  for (const file of files) {
    try { cards.push(await result(file, find, last, receipt.value.trim())) } catch { refuse(file.from) }
  }
  // A later run has newer files.
  if (mine === run) document.querySelector('[data-verified]').replaceChildren(...cards)
}

if (crypto.subtle) form.hidden = false
else document.querySelector('[data-unsafe]').hidden = false
form.addEventListener('submit', event => {
  event.preventDefault()
  check()
})
form.addEventListener('change', check)
