import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { type Listener, socketName, type Transport } from './protocol.ts'

interface Open {
  readonly name: string
  close(): Promise<void>
  /** The number of datagrams received; connections are not counted. */
  heard(): number
}

/** The listeners of one agent; each answers with its name and the client's address. */
export class Listeners {
  readonly #open = new Map<string, Open>()

  /** Idempotent: keeps a listener with the same name, and closes one with another name first. */
  async add(listener: Listener): Promise<null> {
    if (this.#open.get(keyOf(listener))?.name === listener.name) return null
    await this.remove(listener)
    const opened = await OPENERS[listener.protocol](listener)
    this.#open.set(keyOf(listener), opened)
    return null
  }

  async remove(listener: Omit<Listener, 'name'>): Promise<null> {
    const opened = this.#open.get(keyOf(listener))
    this.#open.delete(keyOf(listener))
    await opened?.close()
    return null
  }

  heard(listener: Omit<Listener, 'name'>): number {
    return this.#open.get(keyOf(listener))?.heard() ?? 0
  }

  async removeAll(): Promise<null> {
    const all = [...this.#open.values()]
    this.#open.clear()
    await Promise.all(all.map((opened) => opened.close()))
    return null
  }
}

const OPENERS: Readonly<Record<Transport, (listener: Listener) => Promise<Open>>> = {
  TCP: listenTcp,
  UDP: listenUdp,
  SCTP: listenRaw,
}

/** Loads its module when needed, because raw sockets use an experimental interface of Node. */
async function listenRaw(listener: Listener): Promise<Open> {
  const { listenSctp } = await import('./sctp.ts')
  const stop = listenSctp(listener)
  return { name: listener.name, heard: () => 0, close: async () => stop() }
}

function keyOf({ protocol, ip, port }: Omit<Listener, 'name'>): string {
  return `${protocol} ${socketName(ip, port)}`
}

function answer(name: string, ip: string, port: number): string {
  return `${JSON.stringify({ name, peer: socketName(ip, port) })}\n`
}

/** Sends its line at once, then echoes; ends when the client ends. */
async function listenTcp({ ip, port, name }: Listener): Promise<Open> {
  const clients = new Set<Socket>()
  const server: Server = createServer((socket) => {
    clients.add(socket)
    socket.on('close', () => clients.delete(socket))
    socket.on('error', () => socket.destroy())
    socket.write(answer(name, socket.remoteAddress ?? '', socket.remotePort ?? 0))
    socket.pipe(socket)
  })
  server.listen({ host: ip, port, ipv6Only: true, backlog: 4096 })
  await once(server, 'listening')
  return {
    name,
    heard: () => 0,
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of clients) socket.destroy()
      await closed
    },
  }
}

async function listenUdp({ ip, port, name }: Listener): Promise<Open> {
  const socket: UdpSocket = createSocket({ type: ip.includes(':') ? 'udp6' : 'udp4' })
  let heard = 0
  socket.on('message', (_text, peer) => {
    heard++
    socket.send(answer(name, peer.address, peer.port), peer.port, peer.address, () => {})
  })
  socket.bind(port, ip)
  await once(socket, 'listening')
  return {
    name,
    heard: () => heard,
    async close() {
      const closed = once(socket, 'close')
      socket.close()
      await closed
    },
  }
}
