import type { Clock } from '../../lib/clock.ts'
import { encodeMessage, NLM_F_REQUEST } from '../netlink/message.ts'
import { NFNLGRP_NFTABLES, NFT_MSG, nfMessageType } from '../netlink/nfnetlink.ts'
import type { OpenTransport, Transport } from '../netlink/transport.ts'
import {
  type Generation,
  GenerationCollector,
  type TouchCollector,
} from './generation-collector.ts'
import type { HoldOptions, OwnWork, RuleChange, RuleMonitor } from './rule-monitor.ts'

/** Reports nothing. For a kernel without notifications: only verification finds changes by other processes. */
export const noopMonitor: RuleMonitor<never> = {
  start: () => () => undefined,
  hold: () => () => undefined,
}

const GETGEN = nfMessageType('nftables', NFT_MSG.getGeneration)
/** After this time without an answer, the generation is requested again. */
const ANSWER_MS = 500
/** Changes that may wait during a hold. Further ones are discarded, and reported as one `unknown` change. */
const MAX_QUEUED = 1000

/** Constructor options of `NftablesMonitor`. */
export interface NftablesMonitorOptions<Touched> {
  readonly clock: Clock
  /** What is watched. */
  readonly collector: TouchCollector<Touched>
  /** Which changes are reported; by default all. A transaction without such a change is not reported. */
  readonly concerns?: (touched: Touched) => boolean
  /** By what the author of a change is recognised: the result of `authorship()` in generation-collector.ts; default `pid`. */
  readonly authorship?: 'pid' | 'port'
}

/** A change, with the process id or port (`authorship`) of the program that made it. */
type Queued<Touched> = RuleChange<Touched> & { readonly author: number }

/** What is known while rules are written (`RuleMonitor.hold`). Overlapping holds share it. */
interface Hold<Touched> {
  /** The generation when the hold began; undefined if the kernel has not answered, or the answer was lost. */
  base: number | undefined
  /** At most so many COMMITs of this daemon took effect; NaN if unknown. */
  commits: number
  /** Process ids, or ports (`authorship`), of the programs of this daemon, whose changes are not reported. */
  readonly ownAuthors: Set<number>
  readonly queue: Queued<Touched>[]
  /** Whether changes may have been missed. */
  missed: boolean
}

function newHold<Touched>(): Hold<Touched> {
  return { base: undefined, commits: 0, ownAuthors: new Set(), queue: [], missed: false }
}

/**
 * Reports changes from nf_tables notifications, with the process that made them. It may miss changes while it is
 * unsubscribed, or because its receive buffer is full. The generation counter, which counts every transaction, shows
 * this.
 */
export class NftablesMonitor<Touched> implements RuleMonitor<Touched> {
  readonly #open: OpenTransport
  readonly #options: NftablesMonitorOptions<Touched>
  readonly #collector: GenerationCollector<Touched>
  /** Requests for the generation that were not answered yet, by sequence number. */
  readonly #requests = new Map<number, (generation: number) => void>()
  #transport: Transport | undefined
  #onChange: (change: RuleChange<Touched>) => void = () => undefined
  #seq = 0
  /** The number of holds that were not released, and of those among them that are unsubscribed. */
  #holds = 0
  #unsubscribed = 0
  #hold: Hold<Touched> = newHold()
  /** Settles the hold when the kernel answers; undefined: no released hold waits for this. */
  #settlement: ((generation: number) => void) | undefined

  constructor(open: OpenTransport, options: NftablesMonitorOptions<Touched>) {
    this.#open = open
    this.#options = options
    this.#collector = new GenerationCollector(options.collector)
  }

  start(onChange: (change: RuleChange<Touched>) => void): () => void {
    if (this.#transport !== undefined) throw new TypeError('the monitor is already started')
    this.#onChange = onChange
    this.#transport = this.#open({
      onDatagram: (bytes) =>
        this.#collector.read(bytes, this.#transport?.port, (one) => this.#generation(one)),
      onOverrun: () => this.#overrun(),
    })
    if (this.#unsubscribed === 0) this.#transport.join(NFNLGRP_NFTABLES)
    return () => this.#stop()
  }

  hold(options: HoldOptions = {}): (own: OwnWork) => void {
    const unsubscribed = options.unsubscribed === true
    if (this.#holds++ === 0) this.#begin()
    if (unsubscribed && this.#unsubscribed++ === 0) this.#transport?.leave(NFNLGRP_NFTABLES)
    if (unsubscribed) this.#hold.missed = true
    let released = false
    return (own) => {
      if (released) return
      released = true
      if (unsubscribed && --this.#unsubscribed === 0) {
        this.#collector.reset()
        this.#transport?.join(NFNLGRP_NFTABLES)
      }
      for (const author of own.authors) this.#hold.ownAuthors.add(author)
      this.#hold.commits += own.commits ?? Number.NaN
      if (--this.#holds === 0) this.#release()
    }
  }

  #begin(): void {
    if (this.#settlement !== undefined) {
      // A hold that begins before the last one was settled continues that one, and is settled with its own answer.
      this.#settlement = undefined
      return
    }
    const hold = newHold<Touched>()
    this.#hold = hold
    // Not repeated: a later generation may include changes of this daemon.
    this.#request((generation) => {
      hold.base = generation
    })
  }

  /** Requests the answer with which the hold is settled. */
  #release(): void {
    if (this.#transport === undefined) return
    const settlement = (generation: number) => {
      if (this.#settlement === settlement) this.#settle(generation)
    }
    this.#settlement = settlement
    this.#requestUntilAnswered(settlement)
  }

  /** Reports the changes of a hold once the kernel has answered, so that every earlier notification has arrived. */
  #settle(generation: number): void {
    this.#settlement = undefined
    this.#requests.clear()
    const { base, commits, missed, ownAuthors, queue } = this.#hold
    this.#hold = newHold()
    // NaN commits explain nothing. The generation has 32 bits and wraps.
    const explained = base !== undefined && (generation - base) >>> 0 <= commits
    if (missed && !explained) this.#onChange({ touched: 'unknown', by: undefined, generation })
    for (const { author, ...change } of queue) {
      if (!ownAuthors.has(author)) this.#onChange(change)
    }
  }

  /** Takes a committed transaction, or the answer to a request of this monitor. */
  #generation(generation: Generation<Touched>): void {
    if (generation.port === this.#transport?.port) {
      const answer = this.#requests.get(generation.seq)
      this.#requests.delete(generation.seq)
      return answer?.(generation.id)
    }
    const { id, pid, process, port } = generation
    const touched = this.#concerning(generation.touched)
    if (touched.length === 0) return
    const author = this.#options.authorship === 'port' ? port : pid
    this.#report({ touched, by: { pid, process }, generation: id, author })
  }

  #concerning(touched: Generation<Touched>['touched']): Generation<Touched>['touched'] {
    const { concerns } = this.#options
    return touched === 'unknown' || concerns === undefined ? touched : touched.filter(concerns)
  }

  #report({ author, ...change }: Queued<Touched>): void {
    if (!this.#isHolding()) this.#onChange(change)
    else if (this.#hold.queue.length < MAX_QUEUED) this.#hold.queue.push({ ...change, author })
    else this.#hold.missed = true
  }

  #overrun(): void {
    this.#collector.reset()
    if (this.#isHolding()) this.#hold.missed = true
    else this.#onChange({ touched: 'unknown', by: undefined, generation: undefined })
  }

  #isHolding(): boolean {
    return this.#holds > 0 || this.#settlement !== undefined
  }

  #requestUntilAnswered(onAnswer: (generation: number) => void): void {
    const seq = this.#request(onAnswer)
    this.#options.clock.after(ANSWER_MS, () => {
      if (this.#requests.delete(seq)) this.#requestUntilAnswered(onAnswer)
    })
  }

  /** Requests the generation of the rule set; returns the sequence number of the request. */
  #request(onAnswer: (generation: number) => void): number {
    const seq = ++this.#seq
    if (this.#transport === undefined) return seq
    this.#requests.set(seq, onAnswer)
    const message = { type: GETGEN, flags: NLM_F_REQUEST, payload: Buffer.alloc(4) }
    this.#transport.send(encodeMessage(message, seq)).catch(() => undefined)
    return seq
  }

  #stop(): void {
    this.#transport?.close()
    this.#transport = undefined
    this.#requests.clear()
    this.#hold = newHold()
    this.#settlement = undefined
    this.#onChange = () => undefined
  }
}
