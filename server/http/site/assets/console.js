// Additions to the console's pages; every page works without them.

// Payout files. The page is loaded again after the download, because the payouts are sent then. A page in place of a
// file has warnings; without this script, the browser shows it or saves the file.
for (const form of document.querySelectorAll('form[data-download]')) {
  form.addEventListener('submit', async event => {
    event.preventDefault()
    const button = form.querySelector('button')
    button.disabled = true
    try {
      const answer = await fetch(form.action, { method: 'POST', body: new URLSearchParams(new FormData(form)) })
      const name = /filename="([^"]+)"/.exec(answer.headers.get('Content-Disposition') ?? '')
      if (!answer.ok || !name) throw new Error('a page')
      const link = document.createElement('a')
      link.href = URL.createObjectURL(await answer.blob())
      link.download = name[1]
      link.click()
      location.reload()
    } catch {
      form.submit() // the same form is the same file
    }
  })
}
