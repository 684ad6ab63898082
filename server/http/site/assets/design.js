// What pages do beyond what they are without a script. Each part finds its elements by a data attribute.
const all = (selector, within = document) => [...within.querySelectorAll(selector)]

// Copy buttons. Without this script, the texts are in fields to select by hand.
for (const button of all('button[data-copy]')) {
  const source = button.parentElement.querySelector('input, code')
  const label = button.textContent
  button.hidden = false
  button.setAttribute('aria-live', 'polite')
  button.addEventListener('click', async () => {
    if (source.select) source.select()
    else getSelection().selectAllChildren(source)
    let copied = true
    try {
      await navigator.clipboard.writeText(source.value ?? source.textContent)
    } catch {
      copied = document.execCommand('copy') // where the page has no access to the clipboard
    }
    button.textContent = copied ? button.dataset.copy : 'Ctrl+C'
    setTimeout(() => { button.textContent = label }, 2000)
  })
}
for (const input of all('.copy input')) {
  input.addEventListener('focus', () => input.select())
}

// On a narrow screen a row of links scrolls to the page's own entry. Only the row:
// scrolling the entry into view would make the first Tab begin after it.
for (const entry of all('.menu [aria-current], .strip [aria-current]')) {
  const row = entry.closest('ul')
  const [here, whole] = [entry.getBoundingClientRect(), row.getBoundingClientRect()]
  row.scrollLeft += here.left + here.width / 2 - (whole.left + whole.width / 2)
}

// Times in the browser's zone, on pages with data-zone; other pages use the zone of data-days.
const zones = document.querySelector('[data-zone]')
if (zones) {
  // The same formats as those of the server's days.
  const local = new Intl.DateTimeFormat(zones.dataset.dates, { dateStyle: 'medium', timeStyle: 'short' })
  const hour = new Intl.DateTimeFormat(zones.dataset.dates, { timeStyle: 'short' })
  for (const time of all('time[data-moment]')) {
    time.title = time.textContent + ' ' + zones.dataset.days
    time.textContent = (time.dataset.moment ? hour : local).format(new Date(time.dateTime))
  }
  const zone = local.resolvedOptions().timeZone
  if (zone !== zones.dataset.days) zones.textContent = zones.dataset.zone.replace('{zone}', zone)
}

// Ticks: how many, all at once, and a run of them with the shift key.
for (const bar of all('[data-bulk]')) {
  const form = bar.closest('form')
  const ticks = all('[data-tick]', form)
  const whole = form.querySelector('[data-tick-all]')
  const number = bar.querySelector('[data-ticked]')
  const count = () => {
    const ticked = ticks.filter(tick => tick.checked).length
    number.textContent = ticked + ' selected'
    for (const button of all('button', bar)) button.disabled = ticked === 0
    if (whole) {
      whole.checked = ticked > 0 && ticked === ticks.length
      whole.indeterminate = ticked > 0 && ticked < ticks.length
    }
  }
  let last = -1
  ticks.forEach((tick, i) => tick.addEventListener('click', event => {
    if (event.shiftKey && last >= 0) {
      for (const between of ticks.slice(Math.min(i, last), Math.max(i, last) + 1)) between.checked = tick.checked
    }
    last = i
    count()
  }))
  if (whole) {
    whole.hidden = false
    whole.addEventListener('change', () => {
      for (const tick of ticks) tick.checked = whole.checked
      count()
    })
  }
  addEventListener('pageshow', count) // a browser that goes back restores the ticks
  count()
}

// Charts show the figures of a row at the pointer, the finger, or with the arrow keys.
for (const chart of all('[data-chart]')) {
  const zones = all('[data-tip]', chart)
  if (zones.length === 0) continue
  for (const title of all('title', chart)) title.remove()
  const tip = document.createElement('div')
  tip.className = 'tip'
  tip.hidden = true
  chart.append(tip)
  chart.tabIndex = 0
  let at = -1
  const show = to => {
    zones[at]?.removeAttribute('data-on')
    at = to
    tip.hidden = at < 0
    if (at < 0) return
    zones[at].setAttribute('data-on', '')
    const [head, ...lines] = zones[at].dataset.tip.split(' · ')
    tip.replaceChildren(Object.assign(document.createElement('b'), { textContent: head }))
    for (const line of lines) tip.append(line, document.createElement('br'))
    const [zone, whole] = [zones[at].getBoundingClientRect(), chart.getBoundingClientRect()]
    const right = zone.left + zone.width / 2 - whole.left
    const left = right > whole.width / 2 ? right - tip.offsetWidth - 14 : right + 14
    tip.style.left = Math.max(0, Math.min(left, whole.width - tip.offsetWidth)) + 'px'
  }
  chart.addEventListener('pointermove', event => {
    const found = zones.findIndex(zone => {
      const { left, right } = zone.getBoundingClientRect()
      return event.clientX >= left && event.clientX < right
    })
    if (found >= 0 && found !== at) show(found)
  })
  chart.addEventListener('pointerleave', () => show(-1))
  chart.addEventListener('blur', () => show(-1))
  chart.addEventListener('keydown', ({ key }) => {
    if (key === 'ArrowRight') show(Math.min(at + 1, zones.length - 1))
    else if (key === 'ArrowLeft') show(Math.max(at - 1, 0))
    else if (key === 'Escape') show(-1)
  })
}

// A filter is applied when it is chosen with the pointer. With the keyboard the arrows pass by
// other choices first: it takes the button.
for (const select of all('select[data-filter]')) {
  select.addEventListener('change', () => {
    if (!select.matches(':focus-visible')) select.form.requestSubmit()
  })
}

document.addEventListener('submit', event => {
  const question = event.submitter?.dataset.confirm ?? event.target.dataset.confirm
  if (question && !confirm(question)) event.preventDefault()
})

// Fields that offer what is found at an address while it is typed. Without it they take text.
all('input[data-lookup]').forEach((input, i) => {
  const list = document.createElement('datalist')
  list.id = 'found-' + i
  input.after(list)
  input.setAttribute('list', list.id)
  let waiting, asking
  input.addEventListener('input', () => {
    clearTimeout(waiting)
    asking?.abort()
    const text = input.value.trim()
    // A value that was just chosen from the list is not requested again.
    if (text.length < 2 || [...list.options].some(option => option.value === text)) return
    waiting = setTimeout(async () => {
      asking = new AbortController()
      try {
        const address = new URL(input.dataset.lookup, location.href)
        address.searchParams.set('q', text)
        const answer = await fetch(address, { signal: asking.signal, headers: { Accept: 'application/json' } })
        if (!answer.ok) return
        list.replaceChildren(...(await answer.json()).map(({ value, label }) => new Option(label, value)))
      } catch {
        // A newer text is asked for, or the server is away: what is typed stays as it is.
      }
    }, 150)
  })
})

// A portal within a page of others tells it how high it is, and takes its colours.
if (document.documentElement.dataset.framed !== undefined && parent !== window) {
  const tell = () => parent.postMessage({ railHeight: document.documentElement.offsetHeight }, '*')
  new ResizeObserver(tell).observe(document.documentElement)
  addEventListener('message', ({ source, data }) => {
    if (source !== parent || typeof data?.railTheme !== 'object') return
    for (const name of ['main', 'on-main', 'ground', 'card', 'text', 'soft', 'line']) {
      const colour = data.railTheme[name]
      if (CSS.supports('color', colour)) document.documentElement.style.setProperty('--' + name, colour)
    }
    if (!CSS.supports('color', data.railTheme.main)) return
    document.documentElement.style.setProperty('--main-strong', 'color-mix(in srgb, var(--main) 80%, var(--text))')
    document.documentElement.style.setProperty('--main-soft', 'color-mix(in srgb, var(--main) 12%, var(--card))')
  })
}

// The calculator of a join page counts while values are typed. Without this script, a button sends them.
for (const form of all('form[data-earn]')) {
  const { earn, fixed, digits, code } = form.dataset
  const figures = new Intl.NumberFormat(document.documentElement.lang, { minimumFractionDigits: digits, maximumFractionDigits: digits })
  form.querySelector('button').hidden = true
  form.addEventListener('input', () => {
    const customers = Number(form.customers.value)
    const paid = Math.round(Number(form.amount.value.replace(',', '.')) * 10 ** digits)
    if (!(customers >= 1 && customers <= 10000 && paid >= 1 && paid <= 1e9)) return
    const each = Number(fixed) || Math.round(paid * earn / 10000)
    form.querySelector('output').textContent = figures.format(Math.floor(customers) * each / 10 ** digits) + ' ' + code
  })
}

// Sharing opens the device's own menu where there is one.
if (navigator.share) {
  for (const place of all('[data-share]')) {
    place.hidden = false
    place.addEventListener('click', event => {
      event.preventDefault()
      navigator.share({ title: place.dataset.title, url: place.dataset.share }).catch(() => {}) // the person closed it
    })
  }
}
