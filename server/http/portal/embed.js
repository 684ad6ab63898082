// Puts Rail's partner portal into each element with data-rail-embed, the url of an embed token.
// The frame is as high as its page, and has the colours of the element's custom properties
// --rail-main, --rail-on-main, --rail-ground, --rail-card, --rail-text, --rail-soft and --rail-line.
(() => {
  const names = ['main', 'on-main', 'ground', 'card', 'text', 'soft', 'line']
  for (const place of document.querySelectorAll('[data-rail-embed]')) {
    const frame = document.createElement('iframe')
    const from = new URL(place.dataset.railEmbed)
    frame.src = from.href
    frame.title = place.dataset.railTitle || 'Partner portal'
    frame.allow = 'clipboard-write'
    frame.style.cssText = 'display:block;width:100%;min-height:20rem;border:0'
    addEventListener('message', ({ source, origin, data }) => {
      if (source !== frame.contentWindow || origin !== from.origin || !(data?.railHeight > 0)) return
      frame.style.height = Math.min(data.railHeight, 20000) + 'px'
      const style = getComputedStyle(place)
      const theme = {}
      for (const name of names) theme[name] = style.getPropertyValue('--rail-' + name).trim()
      source.postMessage({ railTheme: theme }, origin)
    })
    place.append(frame)
  }
})()
