// What kubb makes of the description by its own defaults; make lint checks its types.
import { defineConfig } from '@kubb/core'
import { pluginClient } from '@kubb/plugin-client'
import { pluginOas } from '@kubb/plugin-oas'
import { pluginTs } from '@kubb/plugin-ts'

export default defineConfig({
  root: '.',
  input: { path: './openapi/bundle.json' },
  output: { path: './bin/kubb', clean: true },
  plugins: [pluginOas(), pluginTs(), pluginClient({ client: 'fetch' })],
})
