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
// On a narrow screen the menu scrolls to the page's own entry. Only the menu:
// scrolling the entry into view would make the first Tab begin after it.
const entry = document.querySelector('.menu [aria-current]')
if (entry) {
  const menu = entry.closest('ul')
  const [here, whole] = [entry.getBoundingClientRect(), menu.getBoundingClientRect()]
  menu.scrollLeft += here.left + here.width / 2 - (whole.left + whole.width / 2)
}
for (const input of document.querySelectorAll('.copy input')) {
  input.addEventListener('focus', () => input.select())
}
