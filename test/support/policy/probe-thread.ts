import { parentPort, workerData } from 'node:worker_threads'
import { decodeSctp, encodeInit, encodeInitAck } from '../agent/sctp-packet.ts'
import * as libc from './libc.ts'
import {
  OUTCOME,
  type ProbeAnswer,
  type ProbeSettings,
  type Round,
  type RoundReply,
  type RoundRequest,
} from './prober.ts'
import {
  addressed,
  allProbes,
  FAMILIES,
  PODS,
  PORTS,
  type PolicyFamily,
  type Probe,
  type TestPod,
  WAYS,
} from './universe.ts'

/** Probes that are started before answers are looked at. */
const BATCH = 192
/** Milliseconds without any packet after which no answer can be on its way. */
const QUIET_MS = 20
/** Milliseconds after which a datagram without its expected answer is sent again. */
const AGAIN_MS = 200
/** Milliseconds without any expected answer after which those that have not come are lost. */
const LOST_MS = 10_000
/**
 * Source ports, used in turn, so that none is used again while conntrack or IPVS remembers it: where a client reached a
 * Pod through its Service, IPVS translates what the Pod answers to the same port of the client, also when that one
 * addresses the Pod itself.
 */
const SOURCE_PORTS = { first: 10_000, count: 50_000 } as const
/** Milliseconds in which packets to the node must arrive. */
const CONTROL_MS = 10_000

interface Handler {
  readonly fd: number
  /** Called when the socket has events. */
  ready(): void
}

interface PodSockets {
  /** One for each family: raw, of client and server. */
  readonly sctp: Readonly<Record<PolicyFamily, number>>
}

/** Servers of all Pods and clients of all probes, in one thread that opens each socket in the Pod's namespace. */
class ProbeThread {
  readonly #settings: ProbeSettings
  readonly #namespaces = new libc.Namespaces()
  readonly #servers: Handler[] = []
  readonly #sockets = new Map<string, PodSockets>()
  readonly #buffer = Buffer.alloc(2048)
  readonly #from = Buffer.alloc(28)
  /** The packets to the node that have not arrived, by their number; each sends itself. */
  readonly #controls = new Map<number, () => void>()
  #controlsGiven = 0
  #portsGiven = 0
  #probes: readonly Probe[] = []
  #outcomes: Uint8Array = new Uint8Array()
  #addresses: Buffer[] = []
  #heard = new Map<number, string>()
  /** Expected answers that have not come. */
  #missing = 0
  #expected: Uint8Array = new Uint8Array()
  #clients = new Map<number, Handler>()
  #accepted: number[] = []
  /** The sockets of clients over UDP. */
  #datagrams = new Map<string, number>()
  #ports = new Map<string, number>()
  /** The probes over TCP, by what is in their SYN whatever translated its addresses. */
  #connecting = new Map<string, number>()

  constructor(settings: ProbeSettings) {
    this.#settings = settings
    for (const pod of PODS) this.#serve(pod)
    for (const ip of settings.control.ips) this.#serveControl(ip)
  }

  /** Tries every probe and returns the outcomes in their order. */
  run(request: RoundRequest): Round {
    this.#probes = allProbes(request.ways)
    this.#expected = request.expected
    this.#outcomes = new Uint8Array(this.#probes.length)
    this.#addresses = []
    this.#heard = new Map()
    this.#missing = request.expected.reduce((sum, one) => sum + one, 0)
    for (const [id, probe] of this.#probes.entries()) {
      this.#start(id, probe)
      if (id % BATCH === BATCH - 1) this.#service(0)
    }
    this.#awaitAnswers()
    this.#awaitControls()
    while (this.#service(QUIET_MS) > 0);
    this.#end()
    return { outcomes: this.#outcomes, heard: this.#heard }
  }

  /** Closes the sockets of all Pods. */
  close(): void {
    for (const { fd } of this.#servers) libc.close(fd)
  }

  #serve(pod: TestPod): void {
    this.#enter(pod)
    const sctp: Partial<Record<PolicyFamily, number>> = {}
    for (const family of FAMILIES) {
      this.#watchSyns(pod, family)
      for (const port of PORTS) {
        this.#serveTcp(pod, pod.ips[family], port)
        this.#serveUdp(pod, pod.ips[family], port)
      }
      sctp[family] = this.#serveSctp(pod, pod.ips[family], family)
    }
    this.#sockets.set(pod.key, { sctp: sctp as Record<PolicyFamily, number> })
  }

  #enter(pod: TestPod): void {
    this.#namespaces.enter(this.#settings.namespaces[pod.key] ?? '')
  }

  #serveTcp(pod: TestPod, ip: string, port: number): void {
    const fd = libc.openSocket('TCP', ip, port)
    libc.listen(fd)
    const words = Buffer.from(nameOf(pod, port))
    this.#servers.push({
      fd,
      ready: () => {
        for (let one = libc.accept(fd); one !== undefined; one = libc.accept(fd)) {
          libc.send(one, words)
          this.#accepted.push(one)
        }
      },
    })
  }

  /** A connection that was not accepted may have begun all the same: without the reply to its SYN. */
  #watchSyns(pod: TestPod, family: PolicyFamily): void {
    const fd = libc.openSocket('TCP packets', pod.ips[family], 0)
    const ready = (): void =>
      this.#packets(fd, (packet) => {
        const syn = readSyn(packet, family)
        const id = syn && this.#connecting.get(synKey(pod, family, syn))
        if (id !== undefined) this.#arrived(id)
      })
    this.#servers.push({ fd, ready })
  }

  /** Answers with what it was sent, which is the number of the probe, and its name. */
  #serveUdp(pod: TestPod, ip: string, port: number): void {
    const fd = libc.openSocket('UDP', ip, port)
    const name = Buffer.from(nameOf(pod, port))
    this.#servers.push({
      fd,
      ready: () =>
        this.#packets(fd, (packet) => {
          const id = packet.readUInt32BE()
          this.#arrived(id)
          const answer = Buffer.concat([packet.subarray(0, 4), name])
          libc.sendTo(fd, answer, this.#from.subarray(0, ip.includes(':') ? 28 : 16))
        }),
    })
  }

  #serveSctp(pod: TestPod, ip: string, family: PolicyFamily): number {
    const fd = libc.openSocket('SCTP packets', ip, 0)
    const ready = (): void =>
      this.#packets(fd, (packet) => {
        const payload = family === 6 ? packet : packet.subarray(((packet[0] ?? 0) & 15) * 4)
        const found = decodeSctp(payload)
        if (found?.chunk === 'INIT' && isServed(found.destinationPort)) {
          this.#arrived(found.tag - 1)
          const words = nameOf(pod, found.destinationPort)
          const to = Buffer.from(this.#from.subarray(0, family === 6 ? 28 : 16))
          to.writeUInt16BE(0, 2)
          libc.sendTo(fd, encodeInitAck(found, words), to)
        } else if (found?.chunk === 'INIT ACK') {
          this.#answered(payload.readUInt32BE(4) - 1, found.words, found.sourcePort)
        }
      })
    this.#servers.push({ fd, ready })
    return fd
  }

  #serveControl(ip: string): void {
    this.#namespaces.enter(this.#settings.control.namespace)
    const fd = libc.openSocket('UDP', ip, this.#settings.control.port)
    const ready = (): void =>
      this.#packets(fd, (packet) => void this.#controls.delete(packet.readUInt32BE()))
    this.#servers.push({ fd, ready })
  }

  #packets(fd: number, take: (packet: Buffer) => void): void {
    for (;;) {
      const packet = libc.receiveFrom(fd, this.#buffer, this.#from)
      if (packet === undefined) return
      take(packet)
    }
  }

  #start(id: number, probe: Probe): void {
    const { ip, port } = addressed(probe)
    if (probe.protocol === 'TCP') return this.#startTcp(id, probe)
    const raw = probe.protocol === 'SCTP'
    const address = libc.socketAddress(ip, raw ? 0 : port)
    this.#addresses[id] = address
    if (raw) {
      const fd = this.#sockets.get(probe.source.key)!.sctp[probe.family]
      libc.sendTo(fd, encodeInit(this.#sourcePort(probe), port, id + 1), address)
    } else {
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32BE(id)
      libc.sendTo(this.#udpClient(probe), bytes, address)
    }
  }

  #startTcp(id: number, probe: Probe): void {
    const { ip, port } = addressed(probe)
    this.#enter(probe.source)
    const fd = libc.openSocket('TCP', probe.source.ips[probe.family], this.#sourcePort(probe))
    const segment = segmentOf(probe)
    libc.announceSegment(fd, segment)
    this.#connecting.set(synKey(probe.target, probe.family, { port: probe.port, segment }), id)
    const end = (outcome: ProbeAnswer): void => {
      this.#settle(id, outcome)
      this.#clients.delete(fd)
      libc.close(fd)
    }
    const ready = (): void => {
      if (libc.isRefused(fd)) return end(OUTCOME.refused)
      const said = libc.receive(fd, this.#buffer)
      if (said === undefined) end(OUTCOME.failed)
      else if (said.length === 0) end(OUTCOME.mute)
      else
        end(said.toString() === nameOf(probe.target, probe.port) ? OUTCOME.answered : OUTCOME.other)
    }
    this.#clients.set(fd, { fd, ready })
    libc.connect(fd, libc.socketAddress(ip, port))
  }

  /** The socket of a source for all its datagrams of one way, with a port that was not used for long. */
  #udpClient(probe: Probe): number {
    const key = `${probe.source.key} ${probe.family} ${probe.way}`
    const known = this.#datagrams.get(key)
    if (known !== undefined) return known
    this.#enter(probe.source)
    const fd = libc.openSocket('UDP', probe.source.ips[probe.family], this.#sourcePort(probe))
    this.#datagrams.set(key, fd)
    const ready = (): void =>
      this.#packets(fd, (packet) => {
        if (packet.length <= 4) return
        const id = packet.readUInt32BE()
        this.#answered(id, packet.subarray(4).toString(), this.#from.readUInt16BE(2))
      })
    this.#clients.set(fd, { fd, ready })
    return fd
  }

  /** The port of a source for all its probes of one protocol and way. */
  #sourcePort({ source, family, protocol, way }: Probe): number {
    const key = `${protocol} ${source.key} ${family} ${way}`
    const port = this.#ports.get(key) ?? this.#nextPort()
    this.#ports.set(key, port)
    return port
  }

  #nextPort(): number {
    return SOURCE_PORTS.first + (this.#portsGiven++ % SOURCE_PORTS.count)
  }

  #arrived(id: number): void {
    if (this.#outcomes[id] === OUTCOME.silent) this.#outcomes[id] = OUTCOME.arrived
  }

  /** An answer by UDP or SCTP, whose sender must be the address and port to which was sent. */
  #answered(id: number, words: string, fromPort: number): void {
    const probe = this.#probes[id]
    if (probe === undefined) return
    const isRight =
      words === nameOf(probe.target, probe.port) &&
      fromPort === addressed(probe).port &&
      this.#isFrom(this.#addresses[id])
    if (!isRight) this.#heard.set(id, `${words} by ${this.#from.toString('hex')}`)
    this.#settle(id, isRight ? OUTCOME.answered : OUTCOME.other)
  }

  #isFrom(address: Buffer | undefined): boolean {
    if (address === undefined) return false
    const [first, last] = address.length === 16 ? [4, 8] : [8, 24]
    return address.compare(this.#from, first, last, first, last) === 0
  }

  #settle(id: number, outcome: ProbeAnswer): void {
    if (this.#expected[id] === 1 && this.#outcomes[id] !== OUTCOME.answered) this.#missing--
    this.#outcomes[id] = outcome
  }

  /** Handles what has arrived, waiting for it up to `timeoutMs`; returns how many sockets had something. */
  #service(timeoutMs: number): number {
    const all = [...this.#servers, ...this.#clients.values()]
    const ready = libc.poll(
      all.map(({ fd }) => fd),
      timeoutMs,
    )
    for (const index of ready) all[index]?.ready()
    return ready.length
  }

  /**
   * Waits for expected answers, until none has come for longer than TCP takes to send a lost SYN again. Of the other
   * protocols, a packet without its expected answer is sent again here, as a client would.
   */
  #awaitAnswers(): void {
    let last = performance.now()
    let again = last + AGAIN_MS
    while (this.#missing > 0 && performance.now() < last + LOST_MS) {
      const before = this.#missing
      this.#service(QUIET_MS)
      if (this.#missing < before) last = performance.now()
      else if (performance.now() > again) {
        again = performance.now() + AGAIN_MS
        this.#sendAgain()
      }
    }
  }

  #sendAgain(): void {
    for (const [id, probe] of this.#probes.entries()) {
      const isMissing = this.#expected[id] === 1 && this.#outcomes[id] !== OUTCOME.answered
      if (isMissing && probe.protocol !== 'TCP') this.#start(id, probe)
      if (id % BATCH === BATCH - 1) this.#service(0)
    }
  }

  /**
   * Packets from every Pod to the node, which no policy holds up: all packets that it sent before are through then. The
   * kernel of a busy machine drops some, so they are sent until they arrive.
   */
  #awaitControls(): void {
    const sockets = PODS.flatMap((pod) => FAMILIES.map((_, index) => this.#addControl(pod, index)))
    const deadline = performance.now() + CONTROL_MS
    let again = 0
    while (this.#controls.size > 0) {
      const now = performance.now()
      if (now > deadline)
        throw new Error(
          `${this.#controls.size} of ${sockets.length} controls did not reach the node`,
        )
      if (now > again) {
        again = now + AGAIN_MS
        for (const send of this.#controls.values()) send()
      }
      this.#service(QUIET_MS)
    }
    for (const fd of sockets) libc.close(fd)
  }

  /** Adds a packet from a Pod to the node over one of the families, and returns its socket. */
  #addControl(pod: TestPod, familyIndex: number): number {
    const { ips, port } = this.#settings.control
    const number = ++this.#controlsGiven
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32BE(number)
    this.#enter(pod)
    const fd = libc.openSocket('UDP', pod.ips[FAMILIES[familyIndex] ?? 4], 0)
    const to = libc.socketAddress(ips[familyIndex] ?? '', port)
    this.#controls.set(number, () => libc.sendTo(fd, bytes, to))
    return fd
  }

  #end(): void {
    for (const fd of this.#clients.keys()) libc.close(fd)
    for (const fd of this.#accepted) libc.close(fd)
    this.#clients.clear()
    this.#datagrams.clear()
    this.#ports.clear()
    this.#connecting.clear()
    this.#accepted = []
  }
}

function nameOf(pod: TestPod, port: number): string {
  return `${pod.key} ${port}`
}

/** What a SYN says of its probe. */
interface Syn {
  /** The port of the Pod. */
  readonly port: number
  /** The maximum segment size, which no translation of addresses changes. */
  readonly segment: number
}

/** The smallest maximum segment size that is announced; another one for each source and way. */
const SMALLEST_SEGMENT = 600

function segmentOf({ source, way }: Probe): number {
  return SMALLEST_SEGMENT + 2 * PODS.indexOf(source) + WAYS.indexOf(way)
}

function synKey(target: TestPod, family: PolicyFamily, { port, segment }: Syn): string {
  return `${target.key} ${family} ${port} ${segment}`
}

/** Reads a TCP segment if it opens a connection; over IPv4 it has its IP header in front. The kernel's SYNs begin with that option. */
function readSyn(packet: Buffer, family: PolicyFamily): Syn | undefined {
  const tcp = family === 6 ? packet : packet.subarray(((packet[0] ?? 0) & 15) * 4)
  if (tcp.length < 24 || ((tcp[13] ?? 0) & 0x12) !== 2 || tcp.readUInt16BE(20) !== 0x0204) return
  return { port: tcp.readUInt16BE(2), segment: tcp.readUInt16BE(22) }
}

function isServed(port: number): boolean {
  return PORTS.some((one) => one === port)
}

const prober = new ProbeThread(workerData as ProbeSettings)
parentPort?.on('message', (request: RoundRequest | 'end') => {
  if (request === 'end') {
    prober.close()
    parentPort?.close()
    return
  }
  let reply: RoundReply
  try {
    reply = prober.run(request)
  } catch (error) {
    reply = { error: String(error) }
  }
  parentPort?.postMessage(reply)
})
parentPort?.postMessage('ready')
