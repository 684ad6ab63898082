// Runs worker.js in a context whose only globals are those of Workers that the client needs.
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import vm from 'node:vm'

const signature = createHmac('sha256', 'whsec_a').update('1000000.{"type":"sale.created"}').digest('hex')
const context = vm.createContext({
  AbortSignal, clearTimeout, crypto, fetch, Headers, Response, setTimeout, TextDecoder, TextEncoder, URL, URLSearchParams,
  signature, done: console.log, failed(e) { console.error(e); process.exitCode = 1 },
})
vm.runInContext(readFileSync('worker.js', 'utf8'), context)
