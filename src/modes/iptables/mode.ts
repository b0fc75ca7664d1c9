import type { Ipset } from '../../kernel/ipset/ipset.ts'
import type { Iptables } from '../../kernel/iptables/iptables.ts'
import type { RuleMonitor } from '../../kernel/nftables-monitor/rule-monitor.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { Family } from '../../lib/ip.ts'
import type {
  ApplyResult,
  Change,
  Digest,
  ForeignChange,
  Mode,
  ObjectKey,
  Probe,
  Refusal,
} from '../mode.ts'
import type { NetfilterSettings } from '../netfilter/settings.ts'
import { createSets, destroySets } from './affinity-sets.ts'
import { type Applied, applyCommits } from './apply.ts'
import { jumps } from './base.ts'
import { foreignChange } from './foreign-change.ts'
import { digestCount, digestRules, keyOf } from './object.ts'
import { observeObjects, observeSets, observeTable } from './observe.ts'
import { type Commit, plan } from './plan.ts'
import { probeIptables } from './probe.ts'
import { IptablesProgram } from './program.ts'

/**
 * The nft back end takes longer per chain the more chains one commit has; the
 * legacy back end swaps whole tables, so one commit is cheapest there.
 */
const CHAINS_PER_COMMIT = { nft: 500, legacy: Number.POSITIVE_INFINITY } as const

/** Up to so many objects are listed one by one (a process each) instead of with their tables. */
const FEW_OBJECTS = 16

export interface IptablesDependencies {
  readonly iptables: Iptables
  readonly ipset: Ipset
  readonly monitor: RuleMonitor
}

interface OwnWrites {
  readonly pids: number[]
  commits: number | undefined
}

export class IptablesMode implements Mode {
  readonly name = 'iptables'
  readonly gaps = [
    { scenario: 'endpoint weights', reason: 'every endpoint of a Service is equally likely' },
    { scenario: 'IPVS schedulers', reason: 'the choice is always random' },
  ]
  readonly program: IptablesProgram
  readonly #kernel: IptablesDependencies
  readonly #settings: NetfilterSettings
  /** Objects that the kernel holds, as last seen or written; jumps with their count. */
  readonly #present = new Map<ObjectKey, Digest>()

  constructor(settings: NetfilterSettings, kernel: IptablesDependencies) {
    this.#settings = settings
    this.#kernel = kernel
    this.program = new IptablesProgram(settings)
  }

  probe(): Promise<Probe> {
    return probeIptables(this.#kernel, this.#settings)
  }

  async apply(change: Change): Promise<ApplyResult> {
    const {
      createSets: create,
      commits,
      destroySets: destroy,
    } = plan(change, CHAINS_PER_COMMIT[this.#kernel.iptables.backend])
    const size = change.set.length + change.unset.length
    const release = this.#kernel.monitor.hold({ deaf: size > CHAINS_PER_COMMIT.nft })
    const own: OwnWrites = { pids: [], commits: 0 }
    try {
      const optionsOf = (key: ObjectKey) => this.program.setOptionsOf(key)
      const failed = new Map(await createSets(this.#kernel.ipset, create, optionsOf))
      const left = new Map<ObjectKey, Digest>()
      let uncertain = false
      for (const family of [4, 6] as const) {
        const mine = commits.filter((commit) => commit.family === family)
        const applied = await this.#commit(family, mine, own)
        for (const [key, why] of applied.failed) failed.set(key, why)
        for (const key of applied.emptied) left.set(key, digestRules([]))
        uncertain ||= applied.uncertain
      }
      for (const [key, why] of await destroySets(this.#kernel.ipset, destroy)) failed.set(key, why)
      this.#remember(create, destroy, failed)
      return { failed, left, uncertain }
    } catch (error) {
      own.commits = undefined
      throw error
    } finally {
      release(own)
    }
  }

  async observe(keys?: readonly ObjectKey[]): Promise<ReadonlyMap<ObjectKey, Digest>> {
    if (keys && keys.length > FEW_OBJECTS) return this.#observeAmong(new Set(keys))
    const seen = keys ? await observeObjects(this.#kernel, keys) : await this.#observeAll()
    for (const key of keys ?? [...this.#present.keys()]) this.#present.delete(key)
    for (const [key, digest] of seen) this.#present.set(key, digest)
    return seen
  }

  async #observeAmong(keys: ReadonlySet<ObjectKey>): Promise<ReadonlyMap<ObjectKey, Digest>> {
    return new Map([...(await this.observe())].filter(([key]) => keys.has(key)))
  }

  watch(onForeignChange: (change: ForeignChange) => void): () => void {
    return this.#kernel.monitor.start((change) => {
      const foreign = foreignChange(change, ({ family, table, chain }) =>
        jumps(this.#settings, family)
          .filter((jump) => jump.table === table && jump.chain === chain)
          .map(keyOf),
      )
      if (foreign) onForeignChange(foreign)
    })
  }

  async cleanup(): Promise<void> {
    await this.#remove((await this.observe()).keys())
  }

  /** The part of `cleanup` that other rules may wait for: everything but the sets. */
  async removeRules(): Promise<void> {
    await this.#remove([...(await this.observe()).keys()].filter((key) => !key.startsWith('set/')))
  }

  async #remove(keys: Iterable<ObjectKey>): Promise<void> {
    const { failed } = await this.apply({ set: [], unset: [...keys] })
    for (const [object, { code, message }] of failed) {
      throw new NodeProxyError(code, `${object} could not be removed: ${message}`, { object })
    }
  }

  async #observeAll(): Promise<ReadonlyMap<ObjectKey, Digest>> {
    const seen = new Map<ObjectKey, Digest>()
    for (const family of this.#settings.families) {
      for (const table of ['nat', 'filter'] as const) {
        const found = await observeTable(this.#kernel.iptables, family, table)
        for (const [key, digest] of found) seen.set(key, digest)
      }
    }
    for (const [key, digest] of await this.#observeSets()) seen.set(key, digest)
    return seen
  }

  /** A node without ipset serves all but session affinity, so there need be no sets to see. */
  async #observeSets(): Promise<ReadonlyMap<ObjectKey, Digest>> {
    try {
      return await observeSets(this.#kernel.ipset)
    } catch (error) {
      if ([...this.#present.keys()].some((key) => key.startsWith('set/'))) throw error
      return new Map()
    }
  }

  #commit(family: Family, commits: readonly Commit[], own: OwnWrites): Promise<Applied> {
    return applyCommits(family, commits, {
      iptables: this.#kernel.iptables,
      wrote({ pid, commits: count }) {
        own.pids.push(pid)
        if (own.commits !== undefined) own.commits = count && own.commits + count
      },
      contents: {
        rulesOf: (key) => this.program.rulesOf(key),
        countOf: (key) => this.#present.get(key) ?? 0,
      },
      exists: (key) => this.#present.has(key),
      done: (done) => this.#committed(done),
    })
  }

  #committed(commits: readonly Commit[]): void {
    for (const { set, unset, stubs } of commits) {
      for (const key of [...stubs, ...set]) this.#present.set(key, digestCount(1))
      for (const key of unset) this.#present.delete(key)
    }
  }

  #remember(
    created: readonly ObjectKey[],
    destroyed: readonly ObjectKey[],
    failed: ReadonlyMap<ObjectKey, Refusal>,
  ): void {
    for (const key of created) if (!failed.has(key)) this.#present.set(key, digestCount(1))
    for (const key of destroyed) if (!failed.has(key)) this.#present.delete(key)
  }
}
