import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import type { Serves } from './route.ts'
import { createStubServer } from './server.ts'
import { StubStore } from './store.ts'

/**
 * Serves until killed; prints its URL when it listens. SIGUSR2 closes every connection, and makes it refuse new ones
 * until the next SIGUSR2; the state stays.
 */
const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '0' },
    serves: { type: 'string', default: 'slices-v1' },
  },
})
const store = new StubStore()

function listen(): Server {
  const server = createStubServer(store, values.serves as Serves)
  return server.listen(Number(values.port), values.host, () => {
    const { address, port } = server.address() as AddressInfo
    process.stdout.write(`http://${address}:${port}\n`)
  })
}

/** Keeps the process alive while nothing listens. */
setInterval(() => {}, 60_000)
let server = listen()
process.on('SIGUSR2', () => {
  if (server.listening) {
    server.close()
    server.closeAllConnections()
    process.stdout.write('closed\n')
  } else server = listen()
})
