import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP relay to an etcd that can be made to lose everything. */
export interface Relay extends AsyncDisposable {
  readonly endpoint: string
  /** From now on, connections stay open and new ones are accepted, but nothing is passed on. */
  fallSilent(): void
}

export async function startRelay(endpoint: string): Promise<Relay> {
  const { hostname, port, protocol } = new URL(endpoint)
  const sockets = new Set<Socket>()
  let silent = false
  const server = createServer((near) => {
    sockets.add(near)
    if (silent) return
    const far = connect(Number(port), hostname)
    sockets.add(far)
    near.pipe(far).pipe(near)
    for (const one of [near, far]) one.on('error', () => near.destroy() && far.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    endpoint: `${protocol}//127.0.0.1:${(server.address() as AddressInfo).port}`,
    fallSilent: () => {
      silent = true
      for (const socket of sockets) socket.unpipe().pause()
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
