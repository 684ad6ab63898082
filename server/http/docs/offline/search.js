// Shows the sections that have every word of the search, those with a word in their headings first. The index is a
// script beside this one.
(() => {
  const most = 100 // sections that are shown
  const around = 90 // characters before the first word, and twice as many after it
  const field = document.querySelector('#q')
  const status = document.querySelector('#status')
  const found = document.querySelector('#found')
  const prompt = status.innerHTML
  const sections = window.railSearch.map(([to, title, heading, prose, code]) => ({
    to, title, heading, prose, headings: `${title} ${heading}`.toLowerCase(),
    folded: [title, heading, prose, code].join('\n').toLowerCase(),
  }))

  const search = (words) => sections
    .filter(({ folded }) => words.every((word) => folded.includes(word)))
    .map((section) => ({ ...section, weight: words.filter((word) => section.headings.includes(word)).length }))
    .sort((a, b) => b.weight - a.weight)

  const element = (name, ...children) => {
    const out = document.createElement(name)
    out.append(...children)
    return out
  }

  const excerpt = (prose, words) => {
    const lower = prose.toLowerCase()
    const word = words.find((one) => lower.length === prose.length && lower.includes(one)) ?? ''
    const at = word ? lower.indexOf(word) : 0
    const end = at + word.length
    let [before, after] = [prose.slice(0, at), prose.slice(end)]
    if (before.length > around) before = `… ${before.slice(-around).replace(/^\S* /, '')}`
    if (after.length > 2 * around) after = `${after.slice(0, 2 * around).replace(/\S*$/, '')}…`
    return element('dd', before, ...(word ? [element('mark', prose.slice(at, end))] : []), after)
  }

  const show = () => {
    const query = field.value.trim()
    const words = query.toLowerCase().split(/\s+/).filter(Boolean)
    const results = words.length ? search(words) : []
    found.replaceChildren(...results.slice(0, most).flatMap(({ to, title, heading, prose }) => {
      const link = element('a', heading || title)
      link.href = to
      const term = element('dt', link)
      if (heading) {
        const page = element('span', title)
        page.className = 'in'
        term.append(' ', page)
      }
      return [term, excerpt(prose, words)]
    }))
    const count = `${results.length} ${results.length === 1 ? 'section contains' : 'sections contain'} “${query}”.`
    const rest = results.length > most ? ` These are the first ${most}.` : ''
    if (!words.length) status.innerHTML = prompt
    else if (!results.length) status.textContent = `No section contains “${query}”. Use fewer words.`
    else status.textContent = count + rest
  }

  field.value = new URLSearchParams(location.search).get('q') ?? ''
  field.addEventListener('input', show)
  show()
})()
