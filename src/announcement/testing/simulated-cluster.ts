import type { IpAddress } from '../../lib/ip.ts'
import { Election, type LeaseWrite, type SeenLease } from '../election.ts'
import type { ElectionTiming } from '../election-timing.ts'

/** Numbers from a seed (mulberry32): the same history in every run. */
export class SeededRandom {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b_79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  between(least: number, most: number): number {
    return least + this.next() * (most - least)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  one<T>(list: readonly T[]): T {
    return list[Math.floor(this.next() * list.length)]!
  }
}

/** Tasks at points of real time, in milliseconds. */
class Agenda {
  now = 0
  readonly #tasks: { readonly at: number; readonly run: () => void }[] = []

  at(at: number, run: () => void): void {
    const task = { at: Math.max(at, this.now), run }
    let index = this.#tasks.length
    while (index > 0 && this.#tasks[index - 1]!.at > task.at) index -= 1
    this.#tasks.splice(index, 0, task)
  }

  runUntil(end: number): void {
    for (let task = this.#tasks[0]; task !== undefined && task.at <= end; task = this.#tasks[0]) {
      this.#tasks.shift()
      this.now = task.at
      task.run()
    }
    this.now = end
  }
}

/** What goes wrong; each a probability of one message, or milliseconds. */
export interface Faults {
  readonly lostRequest: number
  readonly lostResponse: number
  readonly slow: number
  /** The longest delay of a slow message. */
  readonly maxDelay: number
}

export const NO_FAULTS: Faults = { lostRequest: 0, lostResponse: 0, slow: 0, maxDelay: 0 }

/** How much faster or slower than real time clocks run: at most 2 %, far more than that of any machine. */
const MAX_DRIFT = 0.02
const USUAL_DELAY = 8
const REQUEST_TIMEOUT = 200

/** One API server with Leases, and the nodes that contend for addresses. */
export class SimulatedCluster {
  readonly random: SeededRandom
  readonly nodes: readonly SimulatedNode[]
  readonly agenda = new Agenda()
  readonly leases = new Map<IpAddress, SeenLease>()
  /** When two nodes answered for one address at the same time. */
  readonly violations: string[] = []
  faults: Faults = NO_FAULTS
  writes = 0
  #version = 1

  constructor(
    seed: number,
    { count, timing }: { readonly count: number; readonly timing: ElectionTiming },
  ) {
    this.random = new SeededRandom(seed)
    this.nodes = Array.from(
      { length: count },
      (_, at) => new SimulatedNode(this, `node-${at}`, timing),
    )
  }

  /** The nodes that answer for an address now. */
  answering(ip: IpAddress): readonly string[] {
    return this.nodes.flatMap((node) => (node.answers(ip) ? [node.name] : []))
  }

  /** Checked whenever a node begins to answer, which is when a second one can be there. */
  check(ip: IpAddress): void {
    const names = this.answering(ip)
    if (names.length > 1) this.violations.push(`${ip} at ${this.agenda.now}: ${names.join(', ')}`)
  }

  /** Writes a Lease if it has the version; undefined: a conflict. */
  write({ ip, reason, version, record }: LeaseWrite, clock: number): SeenLease | undefined {
    this.writes += 1
    if (this.leases.get(ip)?.version !== version) return undefined
    const isRenewal = reason !== 'create' && reason !== 'request'
    const renewal = isRenewal ? Math.max(record.renewal, clock) : record.renewal
    return this.#store(ip, { ...record, renewal, version: String(++this.#version) })
  }

  /** Someone deletes a Lease. */
  delete(ip: IpAddress): void {
    this.#version += 1
    this.#store(ip, undefined)
  }

  /** The delay of one message. */
  delay(): number {
    const { slow, maxDelay } = this.faults
    const most = this.random.chance(slow) ? maxDelay : USUAL_DELAY
    return this.random.between(0.5, Math.max(most, 1))
  }

  #store<T extends SeenLease | undefined>(ip: IpAddress, lease: T): T {
    if (lease === undefined) this.leases.delete(ip)
    else this.leases.set(ip, lease)
    for (const node of this.nodes) node.notify(ip, lease)
    return lease
  }
}

/** A node: its process, its clock, and its responder, which the process feeds. */
export class SimulatedNode {
  readonly name: string
  readonly #cluster: SimulatedCluster
  readonly #timing: ElectionTiming
  readonly #offset: number
  readonly #rate: number
  #election: Election
  #plans: ReadonlyMap<IpAddress, readonly string[]> = new Map()
  /** Grows when the process ends, so that what was meant for the old one is dropped. */
  #life = 0
  #isRunning = true
  #isConnected = true
  #pausedUntil = 0
  #timer = 0
  #watchAt = 0
  #watch = 0
  #responder: ReadonlyMap<IpAddress, number> = new Map()
  #applying: ReadonlyMap<IpAddress, number> | undefined

  constructor(cluster: SimulatedCluster, name: string, timing: ElectionTiming) {
    this.name = name
    this.#cluster = cluster
    this.#timing = timing
    this.#offset = cluster.random.between(0, 1e6)
    this.#rate = 1 + cluster.random.between(-MAX_DRIFT, MAX_DRIFT)
    this.#election = new Election(name, timing)
    this.#list()
  }

  get isIdle(): boolean {
    return this.#election.isIdle
  }

  /** Whether the responder answers: it looks at the clock for each request, whatever the process does. */
  answers(ip: IpAddress): boolean {
    return this.#clock() < (this.#responder.get(ip) ?? Number.NEGATIVE_INFINITY)
  }

  plan(plans: ReadonlyMap<IpAddress, readonly string[]>): void {
    this.#plans = plans
    this.#inProcess(() => this.#election.plan(plans))
  }

  drain(): void {
    this.#inProcess(() => this.#election.drain())
  }

  /** The process does nothing for a while, nor reads what comes. The responder, a thread of its own, goes on. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#cluster.agenda.now + ms)
  }

  /** Cuts the node off from the API server, or ends that. */
  connect(isConnected: boolean): void {
    if (isConnected && !this.#isConnected) this.#later(this.#cluster.delay(), () => this.#list())
    this.#isConnected = isConnected
  }

  /** The node ends at once. */
  kill(): void {
    this.#life += 1
    this.#isRunning = false
    this.#responder = new Map()
    this.#applying = undefined
  }

  /** The process starts, and knows nothing. */
  start(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    this.#election = new Election(this.name, this.#timing)
    this.#election.plan(this.#plans)
    this.#list()
  }

  /** A change reaches the watch: later, in order, unless the watch is broken. */
  notify(ip: IpAddress, lease: SeenLease | undefined): void {
    if (!this.#isRunning || !this.#isConnected) return
    const { agenda } = this.#cluster
    const watch = this.#watch
    this.#watchAt = Math.max(this.#watchAt, agenda.now + this.#cluster.delay())
    this.#later(this.#watchAt - agenda.now, () => {
      if (watch === this.#watch) this.#election.watched(ip, lease, this.#clock())
    })
  }

  /** Lists all Leases and watches from there on. */
  #list(): void {
    const { agenda, leases } = this.#cluster
    const watch = ++this.#watch
    // The list is as it is on the server now; what changes later comes by the watch behind it.
    this.#watchAt = agenda.now + this.#cluster.delay()
    const listed = new Map(leases)
    this.#later(this.#watchAt - agenda.now, () => {
      if (watch !== this.#watch || !this.#isConnected) return
      for (const ip of new Set([...this.#plans.keys(), ...listed.keys()])) {
        this.#election.observe(ip, listed.get(ip), this.#clock())
      }
    })
  }

  #step(): void {
    const { writes, answers, nextAt } = this.#election.step(this.#clock())
    for (const write of writes) this.#send(write)
    if (answers !== this.#applying) this.#apply(answers)
    const timer = ++this.#timer
    if (nextAt === Number.POSITIVE_INFINITY) return
    const { agenda } = this.#cluster
    const life = this.#life
    const wait = Math.max((nextAt - this.#clock()) / this.#rate, 0) + 0.01
    agenda.at(agenda.now + wait, () => {
      this.#inLife(life, () => timer === this.#timer && this.#inProcess(() => {}))
    })
  }

  /** The responder takes a set a little later. */
  #apply(answers: ReadonlyMap<IpAddress, number>): void {
    this.#applying = answers
    const { agenda, random } = this.#cluster
    const life = this.#life
    agenda.at(agenda.now + random.between(0.1, 5), () => {
      if (life !== this.#life || this.#applying !== answers) return
      this.#responder = answers
      for (const ip of answers.keys()) this.#cluster.check(ip)
      this.#later(0.1, () => this.#election.applied(answers))
    })
  }

  #send(write: LeaseWrite): void {
    const { agenda, faults, random } = this.#cluster
    let isEnded = false
    const life = this.#life
    const end = (run: () => void): void => {
      this.#inLife(life, () => {
        if (!isEnded) run()
        isEnded = true
      })
    }
    this.#later(REQUEST_TIMEOUT, () => {
      end(() => this.#election.finish(write.ip, { kind: 'failed' }, this.#clock()))
    })
    if (!this.#isConnected || random.chance(faults.lostRequest)) return
    agenda.at(agenda.now + this.#cluster.delay(), () => {
      const written = this.#cluster.write(write, Math.floor(this.#clock() * 1e3))
      const seen = written ?? this.#cluster.leases.get(write.ip)
      if (!this.#isConnected || random.chance(faults.lostResponse)) return
      this.#later(this.#cluster.delay(), () => {
        end(() => {
          if (written)
            return this.#election.finish(
              write.ip,
              { kind: 'written', lease: written },
              this.#clock(),
            )
          this.#election.observe(write.ip, seen, this.#clock())
          this.#election.finish(write.ip, { kind: 'conflict' }, this.#clock())
        })
      })
    })
  }

  /** Runs something in the process after some real time, or after its pause, and then a step. */
  #later(ms: number, run: () => void): void {
    const { agenda } = this.#cluster
    const life = this.#life
    agenda.at(agenda.now + ms, () => this.#inLife(life, () => this.#inProcess(run)))
  }

  #inProcess(run: () => void): void {
    const { agenda } = this.#cluster
    if (!this.#isRunning) return
    if (agenda.now < this.#pausedUntil) {
      const life = this.#life
      return agenda.at(this.#pausedUntil, () => this.#inLife(life, () => this.#inProcess(run)))
    }
    run()
    this.#step()
  }

  #inLife(life: number, run: () => unknown): void {
    if (life === this.#life) run()
  }

  #clock(): number {
    return this.#offset + this.#cluster.agenda.now * this.#rate
  }
}
