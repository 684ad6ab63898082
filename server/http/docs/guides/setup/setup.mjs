// guide.mjs: add the calls of this page, and run it with node guide.mjs
// Each call prints the answer, and returns its id.
async function call(method, path, body, headers = {}) {
  const answer = await fetch(`${process.env.RAIL}/v1/${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${process.env.KEY}`, 'Content-Type': 'application/json', ...headers,
    },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  })
  const text = (await answer.text()).trim()
  console.log(text)
  return JSON.parse(text).id
}
const get = (path) => call('GET', path)
const post = (path, body, headers) => call('POST', path, body, headers)
