import { once } from 'node:events'
import { createServer } from 'node:net'

/** A URL of this machine at which no process listened a moment ago. */
export async function freeAddress(scheme: 'http' | 'https'): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return `${scheme}://127.0.0.1:${address.port}`
}
