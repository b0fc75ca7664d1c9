import type { Iptables } from '../../../kernel/iptables/iptables.ts'
import { type KernelModules } from '../../../kernel/modules/kernel-modules.ts'
import type { Sysctl } from '../../../kernel/sysctl/sysctl.ts'
import type { Clock } from '../../../lib/clock.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { CHAIN } from '../../../modes/ipvs/names.ts'
import type { IpvsSettings } from '../../../modes/ipvs/settings.ts'
import type { Missing } from '../../../modes/mode.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { NodeProxyConfiguration } from '../../config/configuration.ts'
import type { Blueprint } from '../engine/engine.ts'
import type { Retiree } from '../engine/pending-cleanups.ts'
import { ensureSetting } from '../kernel/sysctls.ts'
import type { Ground } from './ground.ts'
import { ipvsLacks, ipvsModules, moduleLacks, unanswered } from './ipvs-lacks.ts'
import { ipvsSettings, schedulerOf } from './ipvs-settings.ts'
import { CONNTRACK, ipvsSysctls, reuseReason } from './ipvs-sysctls.ts'
import { Leftovers } from './leftovers.ts'
import type { Lack, ModeKind, Periods, Readiness, Situation } from './mode-kind.ts'

export interface IpvsKindParts {
  readonly iptables: Pick<Iptables, 'listChain'>
  readonly modules: KernelModules
  readonly sysctl: Sysctl
  readonly clock: Clock
  readonly log: Logger
  /** As `uname -r` says. */
  readonly release: string
  /** Whether ip_vs is at work in this kernel, so that an earlier run may have left something. */
  readonly hasIpvs: () => boolean
  /** For a mode that works. */
  readonly open: () => Promise<Ground>
  /** For one that is only to be removed. */
  readonly openDeaf: () => Promise<Ground>
}

/** The mode itself looks at a part of its virtual servers every second. */
const VERIFY_MS = 600_000
const RECOVERY_PAUSE_MS = 60_000

/** The ipvs mode. Nothing of it is loaded or opened before it is asked for. */
export class IpvsKind implements ModeKind {
  readonly name = 'ipvs'
  readonly #parts: IpvsKindParts
  #ground: Ground | undefined
  #recoverAt = Number.NEGATIVE_INFINITY

  constructor(parts: IpvsKindParts) {
    this.#parts = parts
  }

  demands({ ipvs }: NodeProxyConfiguration): unknown {
    return { scheduler: schedulerOf(ipvs.scheduler) }
  }

  async prepare(situation: Situation): Promise<Readiness> {
    const { modules, release } = this.#parts
    const settings = ipvsSettings(situation)
    const report = await modules.load(ipvsModules(settings.scheduler))
    const wasOpen = this.#ground !== undefined
    const { missing, facts } = await this.#probe(settings)
    const lacks = missing.length > 0 ? ipvsLacks(missing, report) : this.#demandConntrack()
    if (lacks.length > 0 && !wasOpen) await this.close()
    const states = Object.fromEntries(report.states)
    return { lacks, facts: { ...facts, modules: states, connReuseMode: reuseReason(release) } }
  }

  blueprint(situation: Situation): Blueprint {
    const ground = this.#ground
    if (ground === undefined) throw new TypeError('the ipvs mode is not prepared')
    const settings = ipvsSettings(situation)
    const { syncPeriod, minSyncPeriod } = this.periods(situation.config)
    return {
      mode: this.name,
      settings,
      minPeriodMs: minSyncPeriod,
      verifyPeriodMs: ground.hears ? VERIFY_MS : syncPeriod,
      build: () => ground.build(settings),
    }
  }

  periods({ ipvs }: NodeProxyConfiguration): Periods {
    return ipvs
  }

  tune(config: NodeProxyConfiguration): void {
    const { sysctl, log, release } = this.#parts
    for (const { path, value, why } of [CONNTRACK, ...ipvsSysctls(config, release)]) {
      ensureSetting(path, value, { sysctl, log, why })
    }
  }

  /** Node ports on loopback are relayed, not routed. */
  loopbackGuards(): undefined {}

  async isServing(): Promise<boolean> {
    if (!this.#parts.hasIpvs()) return false
    const rules = await this.#parts.iptables.listChain(4, 'nat', CHAIN.postrouting)
    return rules !== undefined
  }

  leftovers(situation: () => Situation): Retiree | undefined {
    return this.#parts.hasIpvs() ? new Leftovers(this.#parts.openDeaf, situation) : undefined
  }

  async recover(config: NodeProxyConfiguration): Promise<void> {
    const { clock, log, modules } = this.#parts
    if (clock.now() < this.#recoverAt) return
    this.#recoverAt = clock.now() + RECOVERY_PAUSE_MS
    const report = await modules.load(ipvsModules(schedulerOf(config.ipvs.scheduler)))
    for (const { code, what, remedy } of moduleLacks(report)) log.error({ code, remedy }, what)
    if (report.loaded.length === 0) return
    log.warn({ modules: report.loaded }, 'kernel modules were gone, and are loaded again')
    this.tune(config)
  }

  async close(): Promise<void> {
    const ground = this.#ground
    this.#ground = undefined
    await ground?.close()
  }

  async #probe(settings: IpvsSettings) {
    try {
      this.#ground ??= await this.#parts.open()
      return await this.#ground.build(settings).probe()
    } catch (error) {
      const missing: readonly Missing[] = [unanswered(error)]
      return { missing, facts: {} }
    }
  }

  #demandConntrack(): readonly Lack[] {
    const { path, value, why } = CONNTRACK
    try {
      this.#parts.sysctl.ensure(path, value)
      return []
    } catch (error) {
      const hint = error instanceof NodeProxyError ? error.hint : undefined
      const remedy = hint ?? `set it on the host: sysctl -w ${path}=${value}`
      return [{ code: 'NP_IPVS_CONNTRACK', what: `${path} is not ${value} (${why})`, remedy }]
    }
  }
}
