// Additions to the console's pages; every page works without them.

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
      if (signup && types.value === 'percent') types.value = 'fixed'
    }
    for (const button of form.querySelectorAll('[data-without-script]')) button.hidden = true
    for (const add of form.querySelectorAll('[data-add]')) add.closest('.sentence').querySelector('button').hidden = true
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
    if (event.target.matches('[data-add]')) {
      if (event.target.value) edit(event.target.closest('.sentence').querySelector('button'))
      return
    }
    toggle()
    describe()
  })
  form.addEventListener('input', describe)
  toggle()
}
