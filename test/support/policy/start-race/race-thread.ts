import { writeFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { openRaw, type RawSocket } from '../../agent/raw-socket.ts'
import * as libc from '../libc.ts'
import { FAMILIES, type PolicyFamily } from '../universe.ts'
import {
  monotonicMs,
  RACE_PORTS,
  type RacePod,
  type RaceReply,
  type RaceRequest,
  type RaceResult,
  type RaceSettings,
} from './race.ts'

const TCP = 6
const AF_INET = 2
/** Rounds between two forbidden connections, which cost more than datagrams. */
const EVERY = 4
/** Connections that may be answered later. */
const WAITING = 8
/** Milliseconds between two rounds, if they take no time. */
const REST_MS = 0.5
const ANY = { 4: '0.0.0.0', 6: '::' } as const
/** Whether an address waits for others that have it, a second; of the thread's namespace. */
const DAD = '/proc/sys/net/ipv6/conf/default/accept_dad'
const ANSWER = Buffer.from('answer')
/** Added to the number of a Pod in answers of the node. */
const FROM_NODE = 0x8000_0000

/** The sockets of a host in one family: a datagram socket that is bound to a port, and a copy of all segments of TCP. */
interface Ends {
  readonly datagrams: number
  readonly segments: RawSocket
}

interface Sending extends RacePod {
  readonly ends: Readonly<Record<PolicyFamily, Ends>>
  readonly attempts: { readonly fd: number; readonly family: PolicyFamily }[]
  readonly up: Map<PolicyFamily, number>
  readonly works: Map<PolicyFamily, number>
  /** The connection that began when the network was up. */
  first: number | undefined
  firstAt: number
  sent: number
  outward: number
  inward: number
  lastArrivedAt: number
  endsAt: number
}

/** Sends from all Pods and to them, in rounds of about a millisecond, and counts what arrives. */
class RaceThread {
  readonly #settings: RaceSettings
  readonly #namespaces = new libc.Namespaces()
  readonly #pods = new Map<number, Sending>()
  readonly #byIp = new Map<string, Sending>()
  readonly #sinkEnds: Readonly<Record<PolicyFamily, Ends>>
  /** What answers, and what takes forbidden connections. */
  readonly #listeners: readonly number[]
  /** Other sockets than those that receive, so that no datagram is the answer to another one. */
  readonly #sinkSenders: Readonly<Record<PolicyFamily, number>>
  readonly #nodeEnds: readonly number[]
  readonly #received = Buffer.alloc(2048)
  readonly #from = Buffer.alloc(28)
  #rounds = 0

  constructor(settings: RaceSettings) {
    this.#settings = settings
    this.#namespaces.enter(settings.node.namespace)
    this.#nodeEnds = FAMILIES.map((family) =>
      libc.openSocket('UDP', settings.node.ips[family], RACE_PORTS.node),
    )
    this.#namespaces.enter(settings.sink.namespace)
    this.#sinkEnds = perFamily((family) => openEnds(family, RACE_PORTS.forbidden))
    this.#sinkSenders = perFamily((family) => libc.openSocket('UDP', ANY[family], 0))
    this.#listeners = FAMILIES.flatMap((family) =>
      [RACE_PORTS.allowed, RACE_PORTS.forbidden].map((port) => {
        const fd = libc.openSocket('TCP', ANY[family], port)
        libc.listen(fd)
        return fd
      }),
    )
  }

  get isBusy(): boolean {
    return this.#pods.size > 0
  }

  begin(pod: RacePod): void {
    this.#namespaces.enter(pod.namespace)
    writeFileSync(DAD, '0')
    const sending: Sending = {
      ...pod,
      ends: perFamily((family) => openEnds(family, RACE_PORTS.inward)),
      attempts: [],
      up: new Map(),
      works: new Map(),
      first: undefined,
      firstAt: Number.POSITIVE_INFINITY,
      sent: 0,
      outward: 0,
      inward: 0,
      lastArrivedAt: 0,
      endsAt: Number.POSITIVE_INFINITY,
    }
    this.#pods.set(pod.id, sending)
    for (const ip of Object.values(pod.ips)) this.#byIp.set(ip, sending)
  }

  end(id: number, afterMs: number): void {
    const pod = this.#pods.get(id)
    if (pod) pod.endsAt = monotonicMs() + afterMs
  }

  round(): void {
    this.#rounds++
    for (const pod of this.#pods.values()) this.#sendFrom(pod)
    this.#namespaces.enter(this.#settings.sink.namespace)
    for (const pod of this.#pods.values()) if (pod.sent > 0) this.#sendTo(pod)
    for (const listener of this.#listeners) this.#answer(listener)
    for (const fd of this.#nodeEnds) this.#answerPods(fd)
    this.#countOutward()
    for (const pod of this.#pods.values()) {
      this.#countInward(pod)
      this.#seeAnswers(pod)
      if (monotonicMs() > pod.endsAt) this.#finish(pod)
    }
  }

  /** Before it has its routes, the kernel refuses all of this. The node answers who can send to other hosts. */
  #sendFrom(pod: Sending): void {
    const { sink, node } = this.#settings
    for (const family of FAMILIES) {
      const { datagrams } = pod.ends[family]
      const to = libc.socketAddress(sink.ips[family], RACE_PORTS.forbidden)
      if (!libc.sendTo(datagrams, idBytes(pod.id), to)) continue
      pod.sent++
      if (pod.up.has(family)) continue
      libc.sendTo(datagrams, idBytes(pod.id), libc.socketAddress(node.ips[family], RACE_PORTS.node))
    }
    if (pod.sent === 0) return
    this.#namespaces.enter(pod.namespace)
    for (const family of FAMILIES) {
      const ip = sink.ips[family]
      if (this.#rounds % EVERY === 0) pod.sent += connectOnce(family, ip, RACE_PORTS.forbidden)
      if (pod.works.has(family)) continue
      pod.attempts.push({ fd: this.#connect(pod, family), family })
    }
  }

  #sendTo(pod: Sending): void {
    for (const family of FAMILIES) {
      const ip = pod.ips[family]
      const to = libc.socketAddress(ip, RACE_PORTS.inward)
      if (libc.sendTo(this.#sinkSenders[family], idBytes(pod.id), to)) pod.sent++
      if (this.#rounds % EVERY === 0) pod.sent += connectOnce(family, ip, RACE_PORTS.inward)
    }
  }

  #answer(listener: number): void {
    for (let fd = libc.accept(listener); fd !== undefined; fd = libc.accept(listener)) {
      libc.send(fd, ANSWER)
      libc.close(fd)
    }
  }

  #answerPods(fd: number): void {
    for (const id of this.#idsAt(fd)) {
      const to = this.#from.subarray(0, this.#from.readUInt16LE() === AF_INET ? 16 : 28)
      libc.sendTo(fd, idBytes(id + FROM_NODE), to)
    }
  }

  #countOutward(): void {
    for (const { datagrams, segments } of Object.values(this.#sinkEnds)) {
      for (const id of this.#idsAt(datagrams)) arrived(this.#pods.get(id), 'outward')
      for (let one = segments.receive(); one !== undefined; one = segments.receive()) {
        const isForbidden = one.payload.readUInt16BE(2) === RACE_PORTS.forbidden
        if (isForbidden) arrived(this.#byIp.get(one.from), 'outward')
      }
    }
  }

  #countInward(pod: Sending): void {
    for (const family of FAMILIES) {
      const { datagrams, segments } = pod.ends[family]
      for (const id of this.#idsAt(datagrams)) {
        if (id < FROM_NODE) arrived(pod, 'inward')
        else if (!pod.up.has(family)) this.#isUp(pod, family)
      }
      for (let one = segments.receive(); one !== undefined; one = segments.receive()) {
        if (one.payload.readUInt16BE(2) === RACE_PORTS.inward) arrived(pod, 'inward')
      }
    }
  }

  #isUp(pod: Sending, family: PolicyFamily): void {
    pod.up.set(family, monotonicMs())
    if (family !== 4) return
    reply({ kind: 'up', id: pod.id })
    pod.first = this.#connect(pod, family)
  }

  #connect(pod: Sending, family: PolicyFamily): number {
    this.#namespaces.enter(pod.namespace)
    const fd = libc.openSocket('TCP', ANY[family], 0)
    libc.connect(fd, libc.socketAddress(this.#settings.sink.ips[family], RACE_PORTS.allowed))
    return fd
  }

  *#idsAt(fd: number): Generator<number> {
    for (;;) {
      const packet = libc.receiveFrom(fd, this.#received, this.#from)
      if (packet === undefined) return
      yield packet.readUInt32BE()
    }
  }

  #seeAnswers(pod: Sending): void {
    const before = pod.works.size
    const isAnswered = (fd: number) => (libc.receive(fd, this.#received)?.length ?? 0) > 0
    for (const { fd, family } of pod.attempts) {
      if (!pod.works.has(family) && isAnswered(fd)) pod.works.set(family, monotonicMs())
    }
    if (pod.first !== undefined && !Number.isFinite(pod.firstAt) && isAnswered(pod.first)) {
      pod.firstAt = monotonicMs()
    }
    const isDone = pod.works.size === FAMILIES.length
    const old = pod.attempts.splice(0, isDone ? Infinity : pod.attempts.length - WAITING)
    for (const { fd } of old) libc.close(fd)
    if (isDone && before < pod.works.size) reply({ kind: 'works', id: pod.id })
  }

  #finish(pod: Sending): void {
    this.#pods.delete(pod.id)
    for (const ip of Object.values(pod.ips)) this.#byIp.delete(ip)
    for (const { fd } of pod.attempts) libc.close(fd)
    if (pod.first !== undefined) libc.close(pod.first)
    for (const { datagrams, segments } of Object.values(pod.ends)) {
      libc.close(datagrams)
      segments.close()
    }
    this.#namespaces.leave(pod.namespace)
    const { id, up, works, firstAt, sent, outward, inward, lastArrivedAt } = pod
    const [upAt, worksAt] = [up, works].map((times) =>
      perFamily((family) => times.get(family) ?? Number.POSITIVE_INFINITY),
    ) as [RaceResult['upAt'], RaceResult['worksAt']]
    const result = { upAt, worksAt, firstAt, sent, outward, inward, lastArrivedAt }
    reply({ kind: 'ended', id, result })
  }
}

function openEnds(family: PolicyFamily, port: number): Ends {
  return {
    datagrams: libc.openSocket('UDP', ANY[family], port),
    segments: openRaw(TCP, ANY[family]),
  }
}

/** Sends the first packet of a connection. @returns the number of packets */
function connectOnce(family: PolicyFamily, ip: string, port: number): number {
  const fd = libc.openSocket('TCP', ANY[family], 0)
  libc.connect(fd, libc.socketAddress(ip, port))
  libc.close(fd)
  return 1
}

function arrived(pod: Sending | undefined, way: 'outward' | 'inward'): void {
  if (pod === undefined) return
  pod[way]++
  pod.lastArrivedAt = monotonicMs()
}

function idBytes(id: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(id)
  return bytes
}

function perFamily<T>(make: (family: PolicyFamily) => T): Readonly<Record<PolicyFamily, T>> {
  return { 4: make(4), 6: make(6) }
}

function reply(message: RaceReply): void {
  parentPort?.postMessage(message)
}

const NEVER = new Int32Array(new SharedArrayBuffer(4))
const thread = new RaceThread(workerData as RaceSettings)
/** Ends when no Pod is left; the next one starts it again. */
let isRunning = false

async function run(): Promise<void> {
  isRunning = true
  while (thread.isBusy) {
    thread.round()
    // Timers of Node are too coarse for less than 2 ms.
    Atomics.wait(NEVER, 0, 0, REST_MS)
    await turn()
  }
  isRunning = false
}

parentPort?.on('message', (request: RaceRequest) => {
  if (request.kind === 'end') return thread.end(request.id, request.afterMs)
  thread.begin(request.pod)
  reply({ kind: 'begun', id: request.pod.id })
  if (!isRunning) void run()
})
