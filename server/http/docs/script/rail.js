// rail.js finds out which partner sent a visitor, and passes the click to the checkout.
// README.md lists its attributes and calls. make generate minifies it to
// gen/script/rail.js, which must stay below 2,700 bytes with gzip.
//
// The script must never block the page or throw an error in it.
(() => {
  const w = window, d = document, l = location
  const tag = d.currentScript || d.querySelector('script[data-rail]')
  const early = (w.rail || 0).q || [] // a stub without calls has no q
  if (!tag || (w.Rail || 0).paddle) return // no tag, or a second one on the page
  const o = tag.dataset

  const find = (pattern, text) => (pattern.exec(text) || [])[1]
  const words = s => (s || '').match(/[^\s,]+/g) || []
  const safe = f => x => { try { return f(x) } catch (e) { say(e) } }
  const params = words(o.params || 'ref')
  const first = o.touch == 'first'
  const auto = o.checkout != 'off'
  const base = o.base || new URL('t', tag.src).href

  let consent = o.consent != 'required'
  let click = 0 // the response of Rail, with the value and the time of the report
  let had // a click that this page has had
  let held = 0 // an arrival that is not yet reported
  let told // the last value, so that a route change with the same query does not report it again
  let busy = Promise.resolve() // resolves when all jobs are done

  // say writes to the console if the page was opened with ?rail_debug=1.
  const debug = /rail_debug=1/.test(l.href)
  const say = text => { debug && console.log('Rail: ' + text) }

  const get = () => click || null

  const cookie = () => find(/\brail_click=(\w+)/, d.cookie)

  // Storage throws if the browser disables it. The cookie and the page still have the click.
  const read = safe(where => JSON.parse(w[where + 'Storage'].rail || 0))
  const write = (where, x) => safe(s => {
    s = w[where + 'Storage']
    x && consent ? s.rail = JSON.stringify(x) : delete s.rail
  })()

  // keep stores a click. Without a click, or without consent, it deletes the stored click:
  // the visitor may withdraw consent while a request is open.
  const keep = c => {
    click = c = consent && c || 0
    write('local', c)
    write('session')
    // The merchant's server reads this cookie. Its domain is the widest that the browser
    // accepts, so that a shop and its app share it. Without a click, max-age is 0 and deletes it.
    let domain = '';
    (o.domain ? [o.domain] : l.hostname.split('.').reverse()).some(label => {
      domain = label + (domain && '.' + domain)
      d.cookie = 'rail_click=' + c.click_id + ';path=/;samesite=lax;max-age=' +
        ((new Date(c.expires_at) - Date.now()) / 1e3 | 0) + ';domain=' + domain
      return cookie() == c.click_id
    })
    say(JSON.stringify(c))
    fill()
  }

  // recall loads the click of an earlier page. The cookie decides whether there is a click.
  // A click from another subdomain has only the cookie; restore requests the rest.
  const recall = () => {
    const id = cookie(), c = read('local')
    click = id ? c && c.click_id == id ? c : { click_id: id } : 0
    fill()
  }

  const post = (url, body) => fetch(url, {
    method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' }, keepalive: true,
    credentials: 'include',
  })

  // tell reports an arrival. If Rail is not reachable, the next page in the tab reports it.
  const tell = a => {
    a.key = o.rail
    return post(base + '/c', a).then(r => {
      if (r.status > 428) throw r.status // too many requests, or a server error
      if (r.status > 201) {
        recall() // the click in the address does not exist
        return r.text().then(text => say('not counted: ' + (text || 'robot or prefetch')))
      }
      return r.json().then(c => {
        c.value = a.value || told
        c.at = Date.now()
        say(r.status > 200 ? 'counted' : 'counted before')
        keep(c)
        if (auto && click && w.Shopify) post('/cart/update.js', { attributes: { rail_click: c.click_id } }).catch(say)
      })
    }).catch(e => {
      write('session', a)
      say('not counted yet: ' + e)
    })
  }

  // restore asks Rail for the visitor's click by Rail's own cookie. This cookie remains when
  // a browser clears the data of scripts.
  const restore = () => fetch(base + '/me?key=' + o.rail, { credentials: 'include' }).then(r => {
    if (r.status == 200) return r.json().then(keep)
    write('session', 1)
    say('new visitor')
  })

  // work runs a job after all earlier jobs. It fires rail:ready after three seconds at most.
  const work = job => {
    const mine = busy = Promise.race([
      busy.then(() => consent && job()).catch(say), new Promise(end => setTimeout(end, 3e3)),
    ]).then(() => {
      if (mine == busy) d.dispatchEvent(new CustomEvent('rail:ready', { bubbles: true, detail: get() }))
    })
  }

  // arrive handles an arrival: a visit with a value or a click in the address.
  const arrive = a => {
    held = a
    if (d.prerendering) return
    if (!consent) return say('not counted: no consent')
    if (navigator.webdriver) return say('not counted: automated browser')
    work(() => first && !click && restore())
    work(() => {
      held = 0
      if (first && click) return say('not counted: first touch')
      if (!a.click_id && click.value == a.value && Date.now() - click.at < 36e5) return say('counted before')
      a.visitor = click.visitor
      if (a.click_id) click = a, fill()
      return tell(a)
    })
  }

  const arrival = (param, value, url, id) => ({
    param, value: value || undefined, click_id: id, url: url.slice(0, 16384), referrer: d.referrer,
  })

  // look reads the page's current address, or the address of the page load if a router has
  // changed it. It returns 1 if it found an arrival.
  const look = safe(opened => {
    const u = new URL(opened || l), q = u.searchParams
    const id = find(/[?&]rail_click=((sample_)?clk_\w+)/, u.search)
    // In a pasted address the parameter may have a different case, follow "&amp;" or a second
    // "?", or be in the fragment. The server cleans the value.
    let value
    const param = params.find(p => value = q.get(p)) ||
      params.find(p => value = find(RegExp('[?#&](?:amp;)?' + p + '=([^&#]+)', 'i'), u))
    if (id) {
      told = value // set it before replaceState, which calls look again
      q.delete('rail_click')
      opened || history.replaceState(history.state, '', u)
    } else if (!param) return say('not counted: no ' + params)
    else if (told == value) return
    told = value
    arrive(arrival(param, value, u.href, id))
    return 1
  })

  // start runs when the script loads, and again when the visitor gives consent.
  const start = () => {
    consent && recall()
    if (held) return arrive(held)
    if (look() || look((performance.getEntriesByType('navigation')[0] || l).name) || !consent) return
    const waits = read('session')
    waits && waits.key ? arrive(waits) : work(() => !waits && !click.expires_at && restore())
  }

  // stale reports whether a value in the page must change: it is empty or a click. On a page without a click, only
  // the merchant's server writes clicks.
  const stale = (value, next) => value != next && (!value || had && /^(sample_)?clk_/.test(value))

  // handed returns an address with the click in the parameter that its host accepts. A GET form gets a field
  // instead, because the browser replaces the query of its address.
  const takes = [
    ['client_reference_id', 'buy.stripe.com checkout.stripe.com ' + (o.checkoutHosts || '')],
    ['reference_id', 'polar.sh'], ['checkout[custom][rail_click]', 'lemonsqueezy.com'],
  ]
  const handed = (url, form) => {
    const u = new URL(url, l), q = u.searchParams
    const at = list => words(list).some(x => ('.' + u.hostname).endsWith('.' + x.replace('*.', '')))
    const own = at(o.domain || l.hostname)
    const took = auto && takes.find(t => at(t[1]))
    const c = click || own && held
    const name = !click && c ? c.click_id ? 'rail_click' : c.param :
      took ? took[0] : !own && at(o.domains) && 'rail_click'
    const value = c.click_id || c.value
    if (form && name) hide(form, name, value)
    if (form || !name || !stale(q.get(name), value)) return url
    value ? q.set(name, value) : q.delete(name)
    return u.href
  }

  // hide adds a value to a form in a hidden field, or removes the field.
  const hide = (form, name, value) => {
    let i = form.querySelector(`input[name="${name}"]`)
    if (!stale(i && i.value, value)) return
    if (!value) return i.remove()
    if (!i) {
      i = form.appendChild(d.createElement('input'))
      i.type = 'hidden'
      i.name = name
    }
    i.value = value
  }

  // fill adds the click to marked forms and to checkouts in the page, or removes an earlier one.
  const each = (selector, f) => d.querySelectorAll(selector).forEach(safe(f))
  const fill = safe(() => {
    const id = click.click_id
    had = had || click
    each('form[data-rail]' + (o.forms ? ',' + o.forms : ''), form => hide(form, 'rail_click', id))
    auto && each('stripe-pricing-table,stripe-buy-button', e => {
      const name = 'client-reference-id'
      if (stale(e.getAttribute(name), id)) id ? e.setAttribute(name, id) : e.removeAttribute(name)
    })
    auto && each('.paddle_button', e => {
      const c = JSON.parse(e.dataset.customData || '{}')
      if (!stale(c.rail_click, id)) return
      c.rail_click = id
      e.dataset.customData = JSON.stringify(c)
    })
    if (!click) return
    each('[data-rail-show]', e => {
      const x = click[e.dataset.railShow], text = x && (x.name || x.label || x.code)
      if (!text) return
      if (e.textContent != text) e.textContent = text
      e.hidden = false
    })
  })

  // touch changes a link or form when the visitor uses it, and not before.
  const touch = safe(e => {
    const a = e.composedPath().find(x => x.hostname && x.href), f = e.target
    if (a && handed(a.href) != a.href) a.href = handed(a.href)
    const action = e.type == 'submit' && f.getAttribute('action')
    const to = action && handed(action, f.method == 'get' && f)
    if (to != action) f.setAttribute('action', to)
  })

  const calls = {
    get,
    ready: f => { busy.then(() => f(get())) },
    track: value => arrive(arrival(params[0], value, l.href)),
    consent: yes => {
      consent = yes
      yes ? start() : keep()
    },
    lead: who => busy.then(() => consent && post(base + '/lead', {
      key: o.rail, click_id: click.click_id, email: who.email, identifier: who.identifier,
    }))
      .then(r => r && r.status == 200, () => false),
  }
  const rail = w.rail = (call, x) => (calls[call] || say)(x)
  w.Rail = { paddle: () => click ? { rail_click: click.click_id } : {} }

  const begin = safe(() => {
    words('pointerdown focusin click submit').map(event => d.addEventListener(event, touch, true))
    words('pushState replaceState').map(m => {
      const was = history[m]
      history[m] = (...x) => {
        was.apply(history, x)
        look()
      }
    })
    w.addEventListener('popstate', () => look())
    // Other pages may have changed the click before the visitor comes back.
    w.addEventListener('pageshow', e => e.persisted && consent && recall())
    new MutationObserver(() => click && fill()).observe(d, { childList: true, subtree: true })
    start()
    early.map(safe(call => rail(...call)))
  })
  d.prerendering ? d.addEventListener('prerenderingchange', begin, { once: true }) : begin()
})()
