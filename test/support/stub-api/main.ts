import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import type { Serves } from './route.ts'
import { createStubServer } from './server.ts'
import { StubStore } from './store.ts'

/** Serves until killed; prints its URL once it listens. State is lost with the process. */
const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '0' },
    serves: { type: 'string', default: 'slices-v1' },
  },
})
const server = createStubServer(new StubStore(), values.serves as Serves)
server.listen(Number(values.port), values.host, () => {
  const { address, port } = server.address() as AddressInfo
  process.stdout.write(`http://${address}:${port}\n`)
})
