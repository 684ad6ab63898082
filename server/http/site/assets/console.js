// Additions to the console's pages; every page works without them.

// Set-up: a part of a page that is asked for again every few seconds, until it has data-polled. Without this script, the
// links with data-unpolled load the page again.
for (const part of document.querySelectorAll('[data-poll]')) {
  const every = part.dataset.every || 3
  const links = part.parentElement.querySelectorAll('[data-unpolled]')
  const show = shown => { for (const link of links) link.hidden = !shown }
  const wait = seconds => part.querySelector('[data-polled]') || setTimeout(ask, seconds * 1000)
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
