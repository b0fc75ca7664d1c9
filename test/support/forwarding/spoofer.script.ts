import { openRaw } from '../agent/raw-socket.ts'
import { paced, pacedTimes } from './paced.ts'
import { type Endpoint, FLAGS, ipNumber, tcpPacket, udpPacket } from './packet.ts'
import { serveCalls } from './serve-calls.ts'
import { FRONTEND, UNUSED_NETWORK } from './stage.ts'

/** Clients who never answer: packets with the addresses of others. */
export type SpooferCalls = typeof calls

/** raw(7): what is sent begins with its IP header. */
const IPPROTO_RAW = 255
const FIRST = ipNumber(UNUSED_NETWORK.split('/')[0] ?? '')
const SEQUENCE = 1_000
const PER_SECOND = 10_000
const PORTS = 100

const socket = openRaw(IPPROTO_RAW, '10.7.0.2')
const state = { next: 0, stop: () => {} }

/** A client of its own for each number: a hundred ports of each address. */
function clientAt(index: number): Endpoint {
  return { ip: FIRST + 1 + Math.floor(index / PORTS), port: 20_000 + (index % PORTS) }
}

function sendTcp(index: number, port: number, flags: 'syn' | 'rst'): void {
  const path = { from: clientAt(index), to: { ip: ipNumber(FRONTEND), port } }
  const sequence = flags === 'syn' ? SEQUENCE : SEQUENCE + 1
  socket.send(tcpPacket(path, FLAGS[flags], sequence), FRONTEND)
}

const calls = {
  /** Half opens so many connections at once, and then so many each second. */
  async begin({ port, count, perSecond }: Record<'port' | 'count' | 'perSecond', number>) {
    state.next = 0
    const one = () => sendTcp(state.next++, port, 'syn')
    await pacedTimes(count, PER_SECOND, one)
    state.stop = paced(perSecond, one)
  },
  /** Takes all of them back. */
  async end(port: number) {
    state.stop()
    let index = 0
    await pacedTimes(state.next, PER_SECOND, () => sendTcp(index++, port, 'rst'))
  },
  /** A datagram of each of so many clients. */
  async datagrams({ port, count }: Record<'port' | 'count', number>) {
    let index = 0
    await pacedTimes(count, PER_SECOND, () => {
      const path = { from: clientAt(index++), to: { ip: ipNumber(FRONTEND), port } }
      socket.send(udpPacket(path, Buffer.from('x')), FRONTEND)
    })
  },
}

serveCalls(calls)
