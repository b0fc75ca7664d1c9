import { setTimeout as sleep } from 'node:timers/promises'
import { Datagrams } from '../../../src/kernel/sockets/datagrams.ts'
import { OriginalDestinations } from '../../../src/kernel/sockets/original-destinations.ts'
import {
  ipOf,
  portOf,
  SOCKET_ADDRESS_BYTES,
  type SocketAddress,
  socketAddress,
} from '../../../src/kernel/sockets/socket-address.ts'
import { Sockets } from '../../../src/kernel/sockets/sockets.ts'
import { openSyscalls } from '../../../src/kernel/sockets/syscalls.ts'
import type { Family } from '../../../src/lib/ip.ts'
import { ip } from '../../../src/modes/testing/mode-fixtures.ts'

const ANY = { 4: ip('0.0.0.0'), 6: ip('::') } as const

const opened = openSyscalls()
if (opened === undefined) throw new Error('this Node makes no system calls')
const sys = opened
const sockets = new Sockets(sys)
const datagrams = new Datagrams(sys)
const originalDestinations = new OriginalDestinations(sys)
const payload = sys.allocate(2048)

function textOf(address: SocketAddress | undefined): string {
  return address ? `${ipOf(address)} ${portOf(address)}` : 'unknown'
}

/**
 * One transparent TCP and one UDP socket at the same port, as redirected packets of one
 * side need them. It greets each connection with `SIDE IP PORT`, the address that the client sent
 * for, echoes what it says, and ends first when it says `bye`; a datagram is answered with the
 * greeting, from the address that it was sent to.
 */
export class TransparentListener {
  readonly port: number
  readonly #side: string
  readonly #family: Family
  readonly #tcp: number
  readonly #udp: number
  readonly #clients = new Set<number>()

  constructor(family: Family, side: string) {
    this.#side = side
    this.#family = family
    this.#tcp = sockets.listenTcp(ANY[family], 0, { transparent: true })
    this.port = portOf(sockets.localAddress(this.#tcp))
    this.#udp = sockets.bindUdp(ANY[family], this.port, { transparent: true })
  }

  /** Serves the clients that are there now. */
  look(): void {
    this.#accept()
    for (const client of this.#clients) this.#echo(client)
    this.#answer()
  }

  #accept(): void {
    const peer = new Uint8Array(SOCKET_ADDRESS_BYTES)
    for (;;) {
      const client = sockets.accept(this.#tcp, peer)
      if (client < 0) return
      this.#clients.add(client)
      const destination = sockets.originalDestination(client, this.#family === 6)
      say(client, `${this.#side} ${textOf(destination)}\n`)
    }
  }

  #echo(client: number): void {
    const length = sys.recv(client, payload.address, payload.bytes.length, 0)
    if (length < 0) return
    const text = payload.bytes.toString('utf8', 0, length)
    if (length > 0 && text !== 'bye\n') say(client, text)
    else {
      this.#clients.delete(client)
      sys.close(client)
    }
  }

  #answer(): void {
    if (datagrams.receive(this.#udp) < 0) return
    const [to, from] = [datagrams.source, datagrams.destination].map(
      (view) => view && Uint8Array.from(view),
    )
    if (to === undefined || from === undefined) return
    const destination = originalDestinations.destinationOf(to, from)
    const text = Buffer.from(`${this.#side} ${textOf(destination)}\n`)
    datagrams.load(text)
    datagrams.passTo(this.#udp, text.length, { from, to })
  }
}

function say(socket: number, text: string): void {
  sys.send(socket, payload.address, payload.bytes.write(text), 0)
}

/** What a server says first to a connection of a socket with this mark. */
export async function greetingWithMark(
  [address, port]: readonly [string, number],
  mark: number,
): Promise<string> {
  const socket = sockets.connect('tcp', socketAddress(ip(address), port), mark)
  for (;;) {
    const length = sys.recv(socket, payload.address, payload.bytes.length, 0)
    if (length >= 0) {
      sys.close(socket)
      return payload.bytes.toString('utf8', 0, length).trim()
    }
    await sleep(5)
  }
}
