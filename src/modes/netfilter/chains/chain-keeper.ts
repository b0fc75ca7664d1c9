import type { Iptables, RestoreResult } from '../../../kernel/iptables/iptables.ts'
import type { RuleMonitor } from '../../../kernel/nftables/rule-monitor.ts'
import type { Family } from '../../../lib/ip.ts'
import type {
  ApplyResult,
  Change,
  Digest,
  ForeignChange,
  KernelError,
  ObjectKey,
} from '../../mode.ts'
import { type Applied, applyCommits } from './apply.ts'
import { foreignChange } from './foreign-change.ts'
import type { ChainContents, ChainKeeperOptions, OwnedChains } from './keeper-options.ts'
import { countOfDigest, digestCount, digestRules } from './object.ts'
import { observeObjects, observeTable } from './observe.ts'
import { type Commit, demandRemoved, plan } from './plan.ts'

/**
 * The nft variant takes longer per chain the more chains one commit has; the
 * legacy variant swaps whole tables, so one commit is cheapest there.
 */
const CHAINS_PER_COMMIT = { nft: 500, legacy: Number.POSITIVE_INFINITY } as const

/** Up to this number, objects are listed one by one (a process each) instead of with their tables. */
const FEW_OBJECTS = 16

/** `OwnWork` of the monitor, while it is being counted. */
interface OwnWrites {
  readonly authors: number[]
  commits: number | undefined
}

/**
 * Writes, reads and watches the chains of one mode, which begin with its prefix, and the jumps of built-in chains to
 * them. The mode defines their contents. Calls of `apply`, `observe` and `removeAll` must not overlap.
 */
export class ChainKeeper {
  readonly #iptables: Iptables
  readonly #monitor: RuleMonitor
  readonly #families: readonly Family[]
  readonly #owned: OwnedChains
  readonly #contents: ChainContents
  /** Objects that the kernel holds, as last seen or written: of chains only the presence counts, of jumps their number. */
  readonly #present = new Map<ObjectKey, Digest>()
  /** Whether everything was read once. */
  #isAdopted = false

  constructor({ iptables, monitor, families, contents, prefix, tables }: ChainKeeperOptions) {
    this.#iptables = iptables
    this.#monitor = monitor
    this.#families = families
    this.#contents = contents
    this.#owned = { prefix, tables }
  }

  /** Writes chains and jumps; refusals come back by object, as from `Mode.apply`. */
  async apply(change: Change): Promise<ApplyResult> {
    const commits = plan(change, {
      tables: this.#owned.tables,
      chainsPerCommit: CHAINS_PER_COMMIT[this.#iptables.backend],
      rankOf: (chain) => this.#contents.rankOf?.(chain) ?? 0,
    })
    const failed = new Map<ObjectKey, KernelError>()
    const left = new Map<ObjectKey, Digest>()
    if (commits.length === 0) return { failed, left, uncertain: false }
    let uncertain = false
    const size = change.set.length + change.unset.length
    await this.#withMonitorHeld(size, async (own) => {
      for (const family of [4, 6] as const) {
        const ofFamily = commits.filter((commit) => commit.family === family)
        const applied = await this.#commit(family, ofFamily, own)
        for (const [key, why] of applied.failed) failed.set(key, why)
        for (const key of applied.emptied) left.set(key, digestRules([]))
        uncertain ||= applied.uncertain
      }
    })
    return { failed, left, uncertain }
  }

  /**
   * Digests of our chains and jumps in the kernel: all, or these; objects that do not exist are absent. When
   * everything is read for the first time, a jump in nat behind that of another Service proxy counts as wrong, so it
   * moves to the front: the proxy that started last decides. After that the other proxy may have been started to take
   * over, and our jump stays where it is.
   */
  async observe(keys?: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, Digest>> {
    if (keys && keys.length > FEW_OBJECTS) return this.#observeAmong(new Set(keys))
    const seen = keys ? await observeObjects(this.#view, keys) : await this.#observeAll()
    for (const key of keys ?? [...this.#present.keys()]) this.#present.delete(key)
    for (const [key, digest] of seen) this.#present.set(key, digest)
    return seen
  }

  /** Calls back when another process touched our chains or jumps; returns a function that stops this. */
  watch(onForeignChange: (change: ForeignChange) => void): () => void {
    return this.#monitor.start((change) => {
      const jumpsIn: ChainContents['jumpsIn'] = (place) => this.#contents.jumpsIn(place)
      const foreign = foreignChange(change, this.#owned, jumpsIn)
      if (foreign) onForeignChange(foreign)
    })
  }

  /** Removes all chains with our prefix, and our jumps; throws the code of the first refusal. */
  async removeAll(): Promise<void> {
    const seen = await this.observe()
    const { failed } = await this.apply({ set: [], unset: [...seen.keys()] })
    demandRemoved(failed)
  }

  get #view() {
    return { iptables: this.#iptables, prefix: this.#owned.prefix }
  }

  async #observeAmong(keys: ReadonlySet<ObjectKey>): Promise<ReadonlyMap<ObjectKey, Digest>> {
    return new Map([...(await this.observe())].filter(([key]) => keys.has(key)))
  }

  async #observeAll(): Promise<ReadonlyMap<ObjectKey, Digest>> {
    const seen = new Map<ObjectKey, Digest>()
    for (const family of this.#families) {
      for (const table of this.#owned.tables) {
        const view = { ...this.#view, precedes: !this.#isAdopted }
        const found = await observeTable(view, family, table)
        for (const [key, digest] of found) seen.set(key, digest)
      }
    }
    this.#isAdopted = true
    return seen
  }

  /** Runs `write` without its changes being reported as foreign ones. */
  async #withMonitorHeld(size: number, write: (own: OwnWrites) => Promise<void>): Promise<void> {
    const release = this.#monitor.hold({ unsubscribed: size > CHAINS_PER_COMMIT.nft })
    const own: OwnWrites = { authors: [], commits: 0 }
    try {
      await write(own)
    } catch (error) {
      own.commits = undefined
      throw error
    } finally {
      release(own)
    }
  }

  #commit(family: Family, commits: readonly Commit[], own: OwnWrites): Promise<Applied> {
    return applyCommits(family, commits, {
      iptables: this.#iptables,
      prefix: this.#owned.prefix,
      wrote: (result) => countWrite(own, result),
      contents: {
        rulesOf: (key) => this.#contents.rulesOf(key),
        countOf: (key) => countOfDigest(this.#present.get(key)),
      },
      exists: (key) => this.#present.has(key),
      done: (done) => this.#recordCommits(done),
    })
  }

  #recordCommits(commits: readonly Commit[]): void {
    for (const { set, unset, stubs } of commits) {
      for (const key of [...stubs, ...set]) this.#present.set(key, digestCount(1))
      for (const key of unset) this.#present.delete(key)
    }
  }
}

function countWrite(
  own: OwnWrites,
  { pid, commits }: Pick<RestoreResult, 'pid' | 'commits'>,
): void {
  own.authors.push(pid)
  own.commits =
    own.commits === undefined || commits === undefined ? undefined : own.commits + commits
}
