import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the kernel's range of ephemeral ports, from which another program could get the port. */
const [FIRST, LAST] = [10_240, 32_767]
/** An address that nothing else uses. A port that is bound there is reserved until the process ends. */
const RESERVED_AT = '127.255.255.253'
const MAX_ATTEMPTS = 200

/** A port that no program uses now, and that no other test of any process gets. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const port = randomInt(FIRST, LAST + 1)
    if ((await reserve(port)) && (await isFree(port))) return port
  }
  throw new Error(`no port from ${FIRST} to ${LAST} is free`)
}

async function reserve(port: number): Promise<boolean> {
  const socket = createSocket('udp4')
  socket.bind({ address: RESERVED_AT, port, exclusive: true })
  return once(socket, 'listening').then(
    () => {
      socket.unref()
      return true
    },
    () => false,
  )
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '0.0.0.0')
  const socket = createSocket('udp4').bind({ address: '127.0.0.1', port, exclusive: true })
  const [tcp, udp] = await Promise.allSettled([
    once(server, 'listening'),
    once(socket, 'listening'),
  ])
  const closed = [
    ...(tcp.status === 'fulfilled' ? [once(server.close(), 'close')] : []),
    ...(udp.status === 'fulfilled' ? [once(socket.close(), 'close')] : []),
  ]
  await Promise.all(closed)
  return closed.length === 2
}
