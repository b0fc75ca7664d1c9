import { createServer } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

/**
 * Loaded into the server (`node --import`). Listens on the Unix socket that DELAY_PROBE names, measures the delay of
 * the event loop while a client is connected, and reports it when the client ends its side.
 */
const path = process.env['DELAY_PROBE']

if (isMainThread && path !== undefined) {
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    client.resume().once('end', () => {
      delay.disable()
      client.end(JSON.stringify({ p99: delay.percentile(99) / 1e6, longest: delay.max / 1e6 }))
    })
  })
  server.on('error', () => undefined)
  server.listen(path).unref()
}
