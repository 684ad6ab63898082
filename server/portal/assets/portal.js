// Copy buttons. Without this script the links stand in fields to select by hand.
for (const button of document.querySelectorAll('button[data-copy]')) {
  const input = button.parentElement.querySelector('input')
  const label = button.textContent
  button.hidden = false
  button.setAttribute('aria-live', 'polite')
  button.addEventListener('click', async () => {
    input.select()
    let copied = true
    try {
      await navigator.clipboard.writeText(input.value)
    } catch {
      copied = document.execCommand('copy') // where the page has no access to the clipboard
    }
    button.textContent = copied ? 'Copied' : 'Press Ctrl+C'
    setTimeout(() => { button.textContent = label }, 2000)
  })
}
document.querySelector('.menu [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
for (const input of document.querySelectorAll('.copy input')) {
  input.addEventListener('focus', () => input.select())
}
