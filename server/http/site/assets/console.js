// Additions to the console's pages. Every page works without them.

// Menus in the header close with Escape, and when something else is used.
const menus = [...document.querySelectorAll('details.pop')]
addEventListener('click', event => {
  for (const menu of menus) if (menu.open && !menu.contains(event.target)) menu.open = false
})
addEventListener('keydown', event => {
  if (event.key !== 'Escape') return
  for (const menu of menus) {
    if (!menu.open) continue
    menu.open = false
    menu.querySelector('summary').focus()
  }
})

// The search in the header. Its results are links below the field: the arrow keys move between them, and Enter opens
// the first one. / and Ctrl-K focus the field.
const find = document.querySelector('input[data-find]')
if (find) {
  const list = document.createElement('ul')
  list.className = 'found'
  list.hidden = true
  list.setAttribute('aria-label', 'Results')
  const count = Object.assign(document.createElement('span'), { className: 'hidden', role: 'status' })
  find.form.append(list, count)
  const sprite = document.querySelector('svg.icon use').getAttribute('href').split('#')[0]
  let links = [], waiting, asking

  const icon = name => {
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg')
    svg.setAttribute('class', 'icon')
    svg.setAttribute('aria-hidden', 'true')
    const use = document.createElementNS('http://www.w3.org/2000/svg', 'use')
    use.setAttribute('href', sprite + '#' + name)
    svg.append(use)
    return svg
  }
  const span = (text, className) => Object.assign(document.createElement('span'), { textContent: text, className })
  const item = hit => {
    const [row, link] = [document.createElement('li'), document.createElement('a')]
    link.href = hit.path
    link.append(icon(hit.icon), span(hit.text, ''))
    if (hit.more) link.append(span(hit.more, 'aside'))
    row.append(link)
    links.push(link)
    return row
  }
  const head = text => Object.assign(document.createElement('li'), { className: 'head', textContent: text })
  const load = async text => {
    asking?.abort()
    asking = new AbortController()
    try {
      const address = new URL(find.form.action)
      address.searchParams.set('q', text)
      const reply = await fetch(address, { signal: asking.signal, headers: { Accept: 'application/json' } })
      if (!reply.ok) return
      const groups = await reply.json()
      links = []
      list.replaceChildren(...groups.flatMap(group => [head(group.name), ...group.hits.map(item)]))
      if (links.length === 0) list.append(head('Nothing found'))
      links[0]?.setAttribute('data-on', '')
      count.textContent = links.length + ' results'
      list.hidden = !find.form.contains(document.activeElement)
    } catch {
      // A newer request replaced this one, or the server is unreachable: the results stay.
    }
  }

  find.addEventListener('input', () => {
    clearTimeout(waiting)
    const text = find.value.trim()
    if (text === '') list.hidden = true
    else waiting = setTimeout(load, 120, text)
  })
  find.form.addEventListener('keydown', event => {
    const at = links.indexOf(document.activeElement)
    if (event.key === 'Escape') {
      list.hidden = true
      find.focus()
    } else if (!list.hidden && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      const to = at + (event.key === 'ArrowDown' ? 1 : -1)
      if (to < 0) find.focus()
      else links[Math.min(to, links.length - 1)]?.focus()
      event.preventDefault()
    } else if (!list.hidden && event.key === 'Enter' && at < 0 && links[0]) {
      event.preventDefault()
      location.assign(links[0].href)
    }
  })
  find.addEventListener('focus', () => { list.hidden = links.length === 0 || find.value.trim() === '' })
  find.form.addEventListener('focusout', event => {
    if (!find.form.contains(event.relatedTarget)) list.hidden = true
  })
  list.addEventListener('mousedown', event => event.preventDefault()) // the field keeps the focus until the click
  addEventListener('keydown', event => {
    const typing = event.target.closest?.('input, textarea, select, [contenteditable]')
    const asked = event.key === 'k' && (event.ctrlKey || event.metaKey) || event.key === '/' && !typing
    if (!asked || event.altKey) return
    event.preventDefault()
    find.focus()
    find.select()
  })
}

// Payout files. The page is loaded again after the download, because the payouts are sent then. A page in place of a
// file has warnings; without this script, the browser shows it or saves the file.
for (const form of document.querySelectorAll('form[data-download]')) {
  form.addEventListener('submit', async event => {
    if (!form.hasAttribute('data-download')) return
    event.preventDefault()
    const sent = new URLSearchParams(new FormData(form, event.submitter))
    event.submitter.disabled = true
    try {
      const answer = await fetch(form.action, { method: 'POST', body: sent })
      const name = /filename="([^"]+)"/.exec(answer.headers.get('Content-Disposition') ?? '')
      if (!answer.ok || !name) throw new Error('a page')
      const link = document.createElement('a')
      link.href = URL.createObjectURL(await answer.blob())
      link.download = name[1]
      link.click()
      location.reload()
    } catch {
      event.submitter.disabled = false
      form.removeAttribute('data-download')
      form.requestSubmit(event.submitter) // the same form is the same file
    }
  })
}

// Set-up: a part of a page that is asked for again every few seconds, until it has data-polled. Without this script, the
// links with data-unpolled load the page again.
for (const part of document.querySelectorAll('[data-poll]')) {
  const every = part.dataset.every || 3
  const links = part.parentElement.querySelectorAll('[data-unpolled]')
  const show = shown => { for (const link of links) link.hidden = !shown }
  const wait = seconds => {
    const end = part.querySelector('[data-polled]')
    if (end?.dataset.polled === 'reload') location.reload() // the rest of the page has changed as well
    else if (!end) setTimeout(ask, seconds * 1000)
  }
  const ask = async () => {
    if (document.hidden) return wait(every)
    try {
      const answer = await fetch(part.dataset.poll)
      if (answer.redirected || !answer.ok) throw answer.status
      const text = await answer.text()
      if (text !== part.dataset.seen) part.innerHTML = text
      part.dataset.seen = text
      show(false)
      wait(every)
    } catch {
      show(true) // signed out, or the server is away
      wait(20)
    }
  }
  show(false)
  wait(every)
}

// The join page's editor: previews follow what is typed.
for (const form of document.querySelectorAll('form[data-preview]')) {
  const frames = document.querySelectorAll('.preview iframe')
  let waiting, latest = 0
  const show = async () => {
    const number = ++latest
    const answer = await fetch(form.dataset.preview, { method: 'POST', body: new URLSearchParams(new FormData(form)) })
    const page = await answer.text()
    if (!answer.ok || number !== latest) return
    for (const [name, header] of [['accent', 'Rail-Contrast'], ['second', 'Rail-Second-Contrast']]) {
      const about = document.getElementById(name + '_color_about')
      about.textContent = answer.headers.get(header) ?? about.textContent
    }
    for (const frame of frames) {
      const at = frame.contentWindow.scrollY
      frame.onload = () => frame.contentWindow.scrollTo(0, at)
      frame.srcdoc = page
    }
  }
  form.addEventListener('input', event => {
    const name = event.target.name
    if (name.endsWith('_color')) form.elements[name.replace('color', 'standard')].checked = false
    clearTimeout(waiting)
    waiting = setTimeout(() => show().catch(() => {}), 400)
  })
  for (const button of form.querySelectorAll('[formtarget]')) button.hidden = true
}

// Rules. Fields that do not apply are hidden as soon as a choice is made; buttons that change the form replace it
// without leaving the page; and the rule is put into words while it is typed.
for (const form of document.querySelectorAll('form[data-rule]')) {
  const toggle = () => {
    for (const part of form.querySelectorAll('[data-when]')) {
      const [name, values] = part.dataset.when.split('=')
      part.hidden = !values.split(' ').includes(form.elements[name]?.value)
    }
    for (const types of form.querySelectorAll('select[name$="rate_type"]')) {
      const percent = [...types.options].find(option => option.value === 'percent')
      const signup = form.elements.trigger.value === 'new_signup'
      if (!percent) continue
      percent.hidden = percent.disabled = signup
      if (signup && types.value === 'percent') {
        types.dataset.was = types.value
        types.value = 'fixed'
      } else if (!signup && types.dataset.was) {
        types.value = types.dataset.was
        delete types.dataset.was
      }
    }
    for (const button of form.querySelectorAll('[data-without-script]')) button.hidden = true
  }
  const send = (address, button) => {
    const body = new URLSearchParams(new FormData(form, button))
    return fetch(address, { method: 'POST', body, headers: { Accept: 'text/html' } })
  }
  let waiting, latest = 0
  const describe = () => {
    clearTimeout(waiting)
    waiting = setTimeout(async () => {
      const words = form.querySelector('[data-rule-words]')
      const turn = ++latest
      words.setAttribute('aria-busy', 'true')
      try {
        const answer = await send(form.dataset.rule)
        const text = await answer.text()
        if (answer.ok && turn === latest) words.replaceChildren(...new DOMParser().parseFromString(text, 'text/html').body.childNodes)
      } catch {
        // The server is away: the words stay as they are.
      }
      words.removeAttribute('aria-busy')
    }, 350)
  }
  const edit = async button => {
    const place = button.value
    const answer = await send(form.getAttribute('action'), button) // form.action is the field of that name
    if (!answer.ok) return form.requestSubmit(button)
    const next = new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('form[data-rule]')
    if (!next) return form.requestSubmit(button)
    form.replaceChildren(...next.childNodes)
    toggle()
    const exceptions = form.querySelectorAll('.exception')
    let target = exceptions[exceptions.length - 1]
    if (place.startsWith('row:')) {
      const rows = form.elements[place.slice(4) + 'new'].closest('.exception').querySelectorAll('.condition')
      target = rows[rows.length - 1]
    }
    const field = target?.querySelector(place.startsWith('row:') ? 'select, input:not([type="hidden"])' : '[data-add]')
    ;(field ?? form.querySelector('[value="case:"]')).focus()
  }
  form.addEventListener('click', event => {
    const button = event.target.closest('button[data-edit]')
    if (!button) return
    event.preventDefault()
    edit(button)
  })
  form.addEventListener('change', event => {
    if (event.target.matches('[data-add]')) return // the button beside it adds the condition
    toggle()
    describe()
  })
  form.addEventListener('input', describe)
  toggle()
}

// Mails: the preview follows the text, and a placeholder goes to the cursor. Without this script, a button updates the
// preview, and the placeholders are a list.
for (const form of document.querySelectorAll('form[data-mail]')) {
  const button = form.querySelector('[formtarget]')
  const view = form.querySelector('iframe')
  let waiting, asking
  const update = async () => {
    asking?.abort()
    asking = new AbortController()
    try {
      const answer = await fetch(button.formAction, {
        method: 'POST', body: new URLSearchParams(new FormData(form)), signal: asking.signal,
      })
      if (answer.redirected || ![200, 400].includes(answer.status)) return
      // Loading the frame would add to the browser's history.
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
      const kind = view.contentDocument.querySelector('[name="kind"]:checked')?.value
      if (kind) page.querySelector(`[name="kind"][value="${kind}"]`)?.setAttribute('checked', '')
      view.contentDocument.body.replaceWith(view.contentDocument.adoptNode(page.body))
    } catch {
      // A newer text is asked for, or the server is away: the preview stays.
    }
  }
  form.addEventListener('input', () => {
    clearTimeout(waiting)
    waiting = setTimeout(update, 500)
  })
}
let lastText
document.addEventListener('focusin', ({ target }) => {
  if (target.matches('textarea, [name$="subject"]')) lastText = target
})
for (const button of document.querySelectorAll('[data-insert]')) {
  button.addEventListener('click', () => {
    const field = lastText ?? document.querySelector('textarea')
    field.setRangeText(button.dataset.insert, field.selectionStart, field.selectionEnd, 'end')
    field.dispatchEvent(new Event('input', { bubbles: true }))
    field.focus()
  })
}

// Keys of lists: j and k move between the rows, Enter opens the row, x ticks it, a and r press Approve and Reject for it.
// ? shows the keys.
const rows = [...document.querySelectorAll('main table.stack > tbody > tr')]
const keys = [['/ or Ctrl-K', 'Search'], ['j and k', 'Next and previous row'], ['Enter', 'Open the row'], ['x', 'Select the row'],
  ['a and r', 'Approve and reject applications'], ['Esc', 'Close']]
const showKeys = () => {
  const box = document.createElement('dialog')
  box.className = 'card'
  box.setAttribute('aria-label', 'Keyboard shortcuts')
  const list = box.appendChild(document.createElement('dl'))
  list.className = 'facts facts-narrow'
  for (const [key, about] of keys) {
    const line = list.appendChild(document.createElement('div'))
    line.appendChild(document.createElement('dt')).textContent = key
    line.appendChild(document.createElement('dd')).textContent = about
  }
  box.addEventListener('close', () => box.remove())
  document.body.append(box)
  box.showModal()
}
const onRow = {
  Enter: row => row.querySelector('th a, td a')?.click(),
  x: row => row.querySelector('input[data-tick]')?.click(),
  a: row => decide(row, 'approve'),
  r: row => decide(row, 'reject'),
}
const decide = (row, what) => {
  const tick = row.querySelector('input[data-tick]')
  const button = row.closest('form')?.querySelector(`button[name="do"][value="${what}"]`)
  if (!tick || !button) return
  if (!tick.checked) tick.click()
  button.focus() // Enter confirms it
}
addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]') ||
    event.target.closest?.('input:not([type="checkbox"]), textarea, select, button, [contenteditable]')) return
  if (event.key === '?') return showKeys()
  const at = rows.findIndex(row => row.contains(document.activeElement))
  if (event.key === 'j' || event.key === 'k') {
    const row = rows[event.key === 'j' ? at + 1 : at - 1]
    if (!row) return
    row.tabIndex = -1
    row.focus()
  } else if (onRow[event.key] && rows[at] && document.activeElement === rows[at]) {
    onRow[event.key](rows[at])
  } else return
  event.preventDefault()
})
