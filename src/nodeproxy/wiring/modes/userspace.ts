import type { Clock } from '../../../lib/clock.ts'
import { formatDuration } from '../../../lib/duration.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { Missing, Probe } from '../../../modes/mode.ts'
import { ownMark } from '../../../modes/netfilter/mark.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { Binding, NodeProxyConfiguration } from '../../config/configuration.ts'
import type { Blueprint } from '../engine/engine.ts'
import type { Retiree } from '../engine/pending-cleanups.ts'
import type { NetfilterAccess } from '../kernel/netfilter.ts'
import type { Lack, ModeKind, Periods, Readiness, Situation } from './mode-kind.ts'
import { chooseEntry } from './userspace-entry.ts'
import type { Ending, UserspaceGround } from './userspace-ground.ts'
import { userspaceSettings } from './userspace-settings.ts'

export interface UserspaceKindParts {
  readonly netfilter: NetfilterAccess
  readonly clock: Clock
  readonly log: Logger
  /** For a mode that works: starts the workers; those of `former` may still have clients. */
  readonly open: (
    config: NodeProxyConfiguration,
    entry: UserspaceGround['entry'],
    former: UserspaceGround | undefined,
  ) => Promise<UserspaceGround>
  /** Removes what an earlier run may have left; undefined where there are no rules. */
  readonly leftovers: (situation: () => Situation) => Retiree | undefined
}

/** Where changes by others are heard, reading everything back is only a second pair of eyes. */
const VERIFY_MS = 600_000
/** At the end of the time to shut down no new connection is taken, so that the last ones can end. */
const LAST_MS = 1_000
const AT_ONCE: Ending = { serving: AbortSignal.abort(), all: AbortSignal.abort() }

/** The userspace mode. Nothing of it is loaded and no worker runs before it is asked for. */
export class UserspaceKind implements ModeKind {
  readonly name = 'userspace'
  readonly #parts: UserspaceKindParts
  #ground: UserspaceGround | undefined
  /** Those before; some of their connections may go on. */
  readonly #former = new Set<UserspaceGround>()
  #shutdownMs = 0

  constructor(parts: UserspaceKindParts) {
    this.#parts = parts
  }

  demands({ userspace, iptables }: NodeProxyConfiguration): unknown {
    return { binds: userspace.bindMap.length > 0, mark: ownMark(iptables) }
  }

  async prepare(situation: Situation): Promise<Readiness> {
    const { config } = situation
    const choice = chooseEntry(config, this.#parts.netfilter)
    if (!choice.ok) return { lacks: choice.lacks, facts: {} }
    const { entry } = choice
    try {
      const { missing, facts } = await this.#tryGround(situation, entry)
      return { lacks: missing.map(asLack), facts: { entry, ...facts } }
    } catch (error) {
      if (!(error instanceof NodeProxyError)) throw error
      const remedy = error.hint ?? 'the code of this error stands in docs/errors.md'
      return { lacks: [{ code: error.code, what: error.message, remedy }], facts: { entry } }
    }
  }

  blueprint(situation: Situation): Blueprint {
    const ground = this.#ground
    if (ground === undefined) throw new TypeError('the userspace mode is not prepared')
    const { config } = situation
    const settings = userspaceSettings(situation, ground.entry)
    const { syncPeriod, minSyncPeriod } = this.periods(config)
    return {
      mode: this.name,
      // Bindings are compared as they were written, because a Map cannot be.
      settings: { settings, bindMap: config.userspace.bindMap, mark: ownMark(config.iptables) },
      minPeriodMs: minSyncPeriod,
      verifyPeriodMs: ground.hears ? VERIFY_MS : syncPeriod,
      build: () => ground.build(settings),
    }
  }

  periods({ userspace }: NodeProxyConfiguration): Periods {
    return userspace
  }

  /** The kernel is fine as it is; only the end of this mode depends on the configuration. */
  tune({ userspace }: NodeProxyConfiguration): void {
    this.#shutdownMs = userspace.shutdownTimeout
  }

  bindings({ userspace }: NodeProxyConfiguration): readonly Binding[] | 'unused' {
    return this.#ground?.entry === 'bind' ? userspace.bindMap : 'unused'
  }

  /** Clients on loopback are served by sockets, too: nothing is routed. */
  loopbackGuards(): undefined {}

  /** Rules of an earlier run lead to a process that is gone. */
  async isServing(): Promise<boolean> {
    return false
  }

  leftovers(situation: () => Situation): Retiree | undefined {
    return this.#parts.leftovers(situation)
  }

  async recover(): Promise<void> {}

  /** Connections live in this process, so they get time to end. */
  async close(): Promise<void> {
    const grounds = [...this.#former, ...(this.#ground ? [this.#ground] : [])]
    this.#former.clear()
    this.#ground = undefined
    if (grounds.length > 0) {
      const shutdownTimeout = formatDuration(this.#shutdownMs)
      this.#parts.log.info({ shutdownTimeout }, 'connections of userspace mode have time to end')
    }
    const [serving, all] = [new AbortController(), new AbortController()]
    const { clock } = this.#parts
    const lastMs = Math.min(LAST_MS, this.#shutdownMs / 2)
    const cancels = [
      clock.after(this.#shutdownMs - lastMs, () => serving.abort()),
      clock.after(this.#shutdownMs, () => all.abort()),
    ]
    const ending = { serving: serving.signal, all: all.signal }
    await Promise.all(grounds.map((ground) => ground.close(ending))).finally(() => {
      for (const cancel of cancels) cancel()
    })
  }

  /** Keeps the ground if nothing is missing; otherwise the one that served until then stays. */
  async #tryGround(situation: Situation, entry: UserspaceGround['entry']): Promise<Probe> {
    const before = this.#ground
    const { config } = situation
    if (before?.suits(config)) return probe(before, situation)
    const ground = await this.#parts.open(config, entry, before)
    let isKept = false
    try {
      const found = await probe(ground, situation)
      isKept = found.missing.length === 0
      return found
    } finally {
      if (isKept) this.#replace(before, ground)
      else await ground.close(AT_ONCE)
    }
  }

  #replace(before: UserspaceGround | undefined, ground: UserspaceGround): void {
    if (before) this.#former.add(before)
    this.#ground = ground
  }
}

function probe(ground: UserspaceGround, situation: Situation): Promise<Probe> {
  return ground.build(userspaceSettings(situation, ground.entry)).probe()
}

function asLack(missing: Missing): Lack {
  return { code: 'NP_USERSPACE_KERNEL', ...missing }
}
