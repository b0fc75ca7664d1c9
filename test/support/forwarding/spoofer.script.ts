import { openRaw } from '../agent/raw-socket.ts'
import { paced, pacedTimes } from './paced.ts'
import { type Endpoint, FLAGS, ipNumber, tcpPacket, udpPacket } from './packet.ts'
import { serveCalls } from './serve-calls.ts'
import { FRONTEND, UNUSED_NETWORK } from './stage.ts'

/** Forged clients, which never answer: sends packets with spoofed source addresses. */
export type SpooferCalls = typeof calls

/** With this protocol, packets are sent with their IP header (raw(7)). */
const IPPROTO_RAW = 255
const FIRST = ipNumber(UNUSED_NETWORK.split('/')[0] ?? '')
const SEQUENCE = 1_000
const PER_SECOND = 10_000
const PORTS = 100

const socket = openRaw(IPPROTO_RAW, '10.7.0.2')
const state = { next: 0, stop: () => {} }

/** The client with a number; each address has a hundred ports. */
function clientAt(index: number): Endpoint {
  return { ip: FIRST + 1 + Math.floor(index / PORTS), port: 20_000 + (index % PORTS) }
}

function sendTcp(index: number, port: number, flags: 'syn' | 'rst'): void {
  const path = { from: clientAt(index), to: { ip: ipNumber(FRONTEND), port } }
  const sequence = flags === 'syn' ? SEQUENCE : SEQUENCE + 1
  socket.send(tcpPacket(path, FLAGS[flags], sequence), FRONTEND)
}

const calls = {
  /** Half-opens `count` connections at once, and then `perSecond` each second. */
  async begin({ port, count, perSecond }: Record<'port' | 'count' | 'perSecond', number>) {
    state.next = 0
    const one = () => sendTcp(state.next++, port, 'syn')
    await pacedTimes(count, PER_SECOND, one)
    state.stop = paced(perSecond, one)
  },
  /** Resets all of them. */
  async end(port: number) {
    state.stop()
    let index = 0
    await pacedTimes(state.next, PER_SECOND, () => sendTcp(index++, port, 'rst'))
  },
  /** Sends a datagram from each of `count` clients. */
  async datagrams({ port, count }: Record<'port' | 'count', number>) {
    let index = 0
    await pacedTimes(count, PER_SECOND, () => {
      const path = { from: clientAt(index++), to: { ip: ipNumber(FRONTEND), port } }
      socket.send(udpPacket(path, Buffer.from('x')), FRONTEND)
    })
  },
}

serveCalls(calls)
