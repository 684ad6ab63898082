// Remembers the tab that a reader chose, for every block and page, and adds a button to
// each block that copies its code. Without this script the tabs still work.
(() => {
  const key = 'rail-guides-tab'
  const remember = (value) => { try { localStorage.setItem(key, value) } catch {} }
  const remembered = () => { try { return localStorage.getItem(key) } catch { return null } }
  const choose = (value) => {
    for (const input of document.querySelectorAll('.tabs input')) {
      if (input.value === value) input.checked = true
    }
  }
  choose(remembered())
  document.addEventListener('change', ({ target }) => {
    if (!target.matches('.tabs input')) return
    const { top } = target.parentElement.getBoundingClientRect()
    choose(target.value)
    remember(target.value)
    scrollBy(0, target.parentElement.getBoundingClientRect().top - top) // other blocks may have grown
  })

  const copy = async (code) => {
    if (navigator.clipboard) return navigator.clipboard.writeText(code.textContent)
    getSelection().selectAllChildren(code) // pages without TLS have no clipboard
    if (!document.execCommand('copy')) throw new Error('the browser does not copy')
  }
  for (const block of document.querySelectorAll('.code')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = 'Copy'
    button.addEventListener('click', async () => {
      button.textContent = await copy(block.querySelector('code')).then(() => 'Copied', () => 'Not copied')
      setTimeout(() => { button.textContent = 'Copy' }, 2000)
    })
    button.setAttribute('aria-live', 'polite')
    block.append(button)
  }
})()
