import type { TrafficCounts } from '../../../src/modes/mode.ts'
import type { DataPath } from '../../../src/modes/userspace/forwarder.ts'
import type { ForwarderCalls, Usage } from './forwarder.script.ts'
import { routesForAllOrders } from './frontends.ts'
import { type Fate, judge, type Verdict } from './judge.ts'
import type { BackendNews, ListenerCalls } from './listener.script.ts'
import type { Remote } from './remote.ts'
import { backendAddress, type Stage } from './stage.ts'
import type { TalkerCalls } from './talker.script.ts'

/** Backends at the same time: each fate happens to one of them, and the others only serve. */
const BACKENDS = 6
const DRAIN_MS = 6_000
const TIMEOUT_MS = 15_000

export interface RoundOptions {
  readonly seed: number
  readonly count: number
  readonly stubborn: number
}

export interface RoundReport {
  readonly verdict: Verdict
  /** All clients were connected at the same time. */
  readonly connected: boolean
  /** The forwarder has no backend left. */
  readonly isOver: boolean
  readonly counts: TrafficCounts
}

interface Beginning {
  readonly forwarder: Remote<ForwarderCalls>
  readonly talker: Remote<TalkerCalls>
  readonly descriptors: Usage['descriptors']
  readonly lostWorkers: readonly unknown[]
}

/** A forwarder, clients that talk through it, and backends that a round does things to. */
export class Chaos {
  readonly lostWorkers: readonly unknown[]
  readonly #stage: Stage
  readonly #forwarder: Remote<ForwarderCalls>
  readonly #talker: Remote<TalkerCalls>
  readonly #backends = new Map<number, Remote<ListenerCalls>>()
  /** Descriptors of the forwarder's process before the forwarder was opened. */
  readonly #descriptors: Usage['descriptors']
  #news: BackendNews[] = []
  #fates = new Map<number, Fate>()
  #lastBackend = 0

  private constructor(stage: Stage, { forwarder, talker, descriptors, lostWorkers }: Beginning) {
    this.#stage = stage
    this.#forwarder = forwarder
    this.#talker = talker
    this.#descriptors = descriptors
    this.lostWorkers = lostWorkers
  }

  static async begin(stage: Stage, dataPath: DataPath): Promise<Chaos> {
    const lostWorkers: unknown[] = []
    const onNews = (news: unknown) => lostWorkers.push(news)
    const forwarder = await stage.start<ForwarderCalls>('node', 'forwarder.script.ts', { onNews })
    const talker = await stage.start<TalkerCalls>('clients', 'talker.script.ts')
    const { descriptors } = await forwarder.call('usage')
    const chaos = new Chaos(stage, { forwarder, talker, descriptors, lostWorkers })
    await forwarder.call('open', { dataPath, workers: 2, limits: { drainMs: DRAIN_MS } })
    await chaos.#add(BACKENDS)
    return chaos
  }

  usage(): Promise<Usage> {
    return this.#forwarder.call('usage')
  }

  /** Closes the forwarder, and returns which descriptors there are then, and were at first. */
  async end(): Promise<Record<'first' | 'last', Usage['descriptors']>> {
    await this.#forwarder.call('close')
    const { descriptors } = await this.#forwarder.call('usage')
    return { first: this.#descriptors, last: descriptors }
  }

  /** Opens all connections first, so that all of them exist when backends begin to fail. */
  async round(options: RoundOptions): Promise<RoundReport> {
    this.#news = []
    this.#fates = new Map()
    await this.#talker.call('open', options)
    const connected = await this.#forwarder.call('untilClients', options.count)
    await this.#talker.call('startTrickle', options.seed * 1_000)
    await this.#talker.call('go')
    await this.#happen()
    await this.#talker.call('release')
    const outcomes = await this.#talker.call('outcomes', TIMEOUT_MS)
    const isOver = await this.#forwarder.call('untilClients', 0)
    await this.#removeFated()
    await Promise.all([...this.#backends.values()].map((backend) => backend.call('untilIdle')))
    const verdict = judge({ outcomes, news: this.#news, fates: this.#fates })
    return { verdict, connected, isOver, counts: await this.#forwarder.call('counts') }
  }

  /** Replaces one backend, kills one, and makes one unreachable for a while and one for ever. */
  async #happen(): Promise<void> {
    const [replaced = 0, killed = 0, asleep = 0, lost = 0] = this.#backends.keys()
    const talker = this.#talker
    await talker.call('untilEnded', 100)
    await this.#replace(replaced, 'left')
    await talker.call('untilEnded', 200)
    await this.#kill(killed)
    await talker.call('untilEnded', 300)
    for (const one of [asleep, lost]) await this.#stage.blackhole(backendAddress(one), true)
    await talker.call('untilTrickled', 40)
    await this.#stage.blackhole(backendAddress(asleep), false)
    await this.#replace(lost, 'lost')
    await talker.call('untilTrickled', 40)
    await talker.call('stopTrickle')
    await this.#forwarder.call('untilDrained')
    await this.#stage.blackhole(backendAddress(lost), false)
  }

  async #replace(who: number, kind: 'left' | 'lost'): Promise<void> {
    const from = Date.now() + DRAIN_MS
    this.#fates.set(who, { kind, from, until: from })
    await this.#add(1)
    this.#fates.set(who, { kind, from, until: Date.now() })
  }

  async #kill(who: number): Promise<void> {
    const from = Date.now()
    await this.#backends.get(who)?.kill()
    this.#fates.set(who, { kind: 'killed', from, until: Date.now() })
  }

  async #removeFated(): Promise<void> {
    for (const who of this.#fates.keys()) {
      const backend = this.#backends.get(who)
      if (this.#fates.get(who)?.kind === 'left') await backend?.call('untilIdle')
      await backend?.kill()
      this.#backends.delete(who)
    }
  }

  /** Starts backends. The routes lead to those without a fate. */
  async #add(count: number): Promise<void> {
    const onNews = (news: unknown) => this.#news.push(news as BackendNews)
    const fresh = Array.from({ length: count }, () => ++this.#lastBackend)
    await Promise.all(
      fresh.map(async (who) => {
        const args = [backendAddress(who), String(who)]
        const options = { args, onNews }
        const started = this.#stage.start<ListenerCalls>('backends', 'listener.script.ts', options)
        this.#backends.set(who, await started)
      }),
    )
    const serving = [...this.#backends.keys()].filter((who) => !this.#fates.has(who))
    await this.#forwarder.call('apply', routesForAllOrders(serving))
  }
}
