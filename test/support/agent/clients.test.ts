import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { KeptConnections } from './clients.ts'

/** Greets, and sends back what it gets, in a thread of its own; `workerData` becomes 1 when that is sent. */
const ECHO = `
const { parentPort, workerData: sent } = require('node:worker_threads')
const server = require('node:net').createServer((socket) => {
  socket.on('error', () => {})
  socket.write('{"name":"echo","peer":"127.0.0.1:1"}\\n')
  socket.on('data', (data) => socket.write(data, () => {
    Atomics.store(sent, 0, 1)
    Atomics.notify(sent, 0)
  }))
})
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`
const PING_MS = 10

test('an answer that came while the process stood still is read before the time is over', async () => {
  const sent = new Int32Array(new SharedArrayBuffer(4))
  const echo = new Worker(ECHO, { eval: true, workerData: sent })
  const [port] = await once(echo, 'message')
  const kept = new KeptConnections()
  const address = { source: '127.0.0.1', destination: '127.0.0.1', port }
  const { id } = await kept.open({ protocol: 'TCP', ...address, timeoutMs: 60_000 })
  const pinged = kept.ping(id, PING_MS)
  expect(Atomics.wait(sent, 0, 0, 60_000)).not.toBe('timed-out')
  // Nothing notifies any more: this thread stands still until the time of the ping is over.
  Atomics.wait(sent, 0, 1, 2 * PING_MS)
  expect(await pinged).toBe(true)
  kept.reset()
  await echo.terminate()
})
