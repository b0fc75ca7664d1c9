import type { Iptables } from '../../../kernel/iptables/iptables.ts'
import type { KernelModules } from '../../../kernel/kernel-modules.ts'
import { ensureSetting, type Sysctl } from '../../../kernel/sysctl.ts'
import type { Clock } from '../../../lib/clock.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { networkDifference } from '../../../lib/ip-range.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type {
  ModeDriver,
  ModeSpec,
  PendingCleanup,
  Periods,
  Readiness,
} from '../../definition/mode-driver.ts'
import type { ModeView } from '../../definition/mode-view.ts'
import type { Missing, MissingRequirement, Mode } from '../../mode.ts'
import type { NetfilterConfiguration } from '../../netfilter/settings/configuration.ts'
import { netfilterSettings, nodeAddresses } from '../../netfilter/settings/netfilter-settings.ts'
import type { ModeInputs } from '../../netfilter/settings/settings.ts'
import { linuxVersion } from '../../netfilter/trial.ts'
import { CHAIN } from '../objects/names.ts'
import type { IpvsSettings } from '../settings.ts'
import type { IpvsConfiguration } from './configuration.ts'
import {
  ipvsModules,
  missingModuleRequirements,
  missingRequirements,
  unanswered,
} from './missing-modules.ts'
import type { IpvsRuntime } from './open-ipvs.ts'

const DEFAULT_SCHEDULER = 'rr'

/** Without it no packet that IPVS forwards can be masqueraded. */
const CONNTRACK: IpvsSysctl = {
  path: 'net/ipv4/vs/conntrack',
  value: '1',
  why: 'connections that IPVS forwards are masqueraded and matched like any other',
}

const ARP = 'only the interface that has an address answers for it (ipvs.strictARP)'
const STRICT_ARP: readonly IpvsSysctl[] = [
  { path: 'net/ipv4/conf/all/arp_ignore', value: '1', why: ARP },
  { path: 'net/ipv4/conf/all/arp_announce', value: '2', why: ARP },
]

/** What `IpvsDriver` works with; tests pass fakes. */
export interface IpvsDriverParts {
  readonly iptables: Pick<Iptables, 'listChain'>
  readonly modules: KernelModules
  readonly sysctl: Sysctl
  readonly clock: Clock
  readonly log: Logger
  /** The kernel's release, as `uname -r` prints it. */
  readonly release: string
  /** Whether ip_vs is loaded in this kernel, so that an earlier run may have left something. */
  readonly hasIpvs: () => boolean
  /** Opens what a mode that forwards needs. */
  readonly open: () => Promise<IpvsRuntime>
  /** Opens what is needed to remove a mode. */
  readonly openForCleanup: () => Promise<IpvsRuntime>
  /** Opens what is needed to read a mode. */
  readonly view: (settings: IpvsSettings) => Promise<ModeView>
}

/** The mode itself looks at a part of its virtual servers every second. */
const VERIFY_MS = 600_000
const RECOVERY_PAUSE_MS = 60_000

/** The ipvs mode. Nothing is loaded or opened before `prepare` or a cleanup needs it. */
export class IpvsDriver implements ModeDriver<IpvsConfiguration> {
  readonly name = 'ipvs'
  readonly #parts: IpvsDriverParts
  #runtime: IpvsRuntime | undefined
  #recoverAt = Number.NEGATIVE_INFINITY

  constructor(parts: IpvsDriverParts) {
    this.#parts = parts
  }

  demands({ ipvs }: NetfilterConfiguration & IpvsConfiguration): unknown {
    return { scheduler: schedulerOf(ipvs.scheduler) }
  }

  async prepare(inputs: ModeInputs<IpvsConfiguration>): Promise<Readiness> {
    const { modules, release } = this.#parts
    const settings = ipvsSettings(inputs)
    const report = await modules.load(ipvsModules(settings.scheduler))
    const wasOpen = this.#runtime !== undefined
    const { missing, facts } = await this.#probe(settings)
    const required =
      missing.length > 0 ? missingRequirements(missing, report) : this.#demandConntrack()
    if (required.length > 0 && !wasOpen) await this.close()
    const states = Object.fromEntries(report.states)
    return {
      missing: required,
      facts: { ...facts, modules: states, connReuseMode: reuseReason(release) },
    }
  }

  spec(inputs: ModeInputs<IpvsConfiguration>): ModeSpec {
    const runtime = this.#runtime
    if (runtime === undefined) throw new TypeError('the ipvs mode is not prepared')
    const settings = ipvsSettings(inputs)
    const { syncPeriod, minSyncPeriod } = this.periods(inputs.config)
    return {
      mode: this.name,
      settings,
      minPeriodMs: minSyncPeriod,
      verifyPeriodMs: runtime.hasRuleMonitor ? VERIFY_MS : syncPeriod,
      build: () => runtime.build(settings),
    }
  }

  view(inputs: ModeInputs<IpvsConfiguration>): Promise<ModeView> {
    return this.#parts.view(ipvsSettings(inputs))
  }

  periods({ ipvs }: IpvsConfiguration): Periods {
    return ipvs
  }

  tune(config: NetfilterConfiguration & IpvsConfiguration): void {
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

  leftovers(inputs: () => ModeInputs<IpvsConfiguration>): PendingCleanup | undefined {
    return this.#parts.hasIpvs()
      ? new IpvsPendingCleanup(this.#parts.openForCleanup, inputs)
      : undefined
  }

  async recover(config: NetfilterConfiguration & IpvsConfiguration): Promise<void> {
    const { clock, log, modules } = this.#parts
    if (clock.now() < this.#recoverAt) return
    this.#recoverAt = clock.now() + RECOVERY_PAUSE_MS
    const report = await modules.load(ipvsModules(schedulerOf(config.ipvs.scheduler)))
    for (const { code, what, remedy } of missingModuleRequirements(report))
      log.error({ code, remedy }, what)
    if (report.loaded.length === 0) return
    log.warn({ modules: report.loaded }, 'kernel modules had been unloaded, and are loaded again')
    this.tune(config)
  }

  async close(): Promise<void> {
    const runtime = this.#runtime
    this.#runtime = undefined
    await runtime?.close()
  }

  async #probe(settings: IpvsSettings) {
    try {
      this.#runtime ??= await this.#parts.open()
      return await this.#runtime.build(settings).probe()
    } catch (error) {
      const missing: readonly Missing[] = [unanswered(error)]
      return { missing, facts: {} }
    }
  }

  #demandConntrack(): readonly MissingRequirement[] {
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

/** Removes what an earlier run in ipvs mode left behind, with sockets of its own. */
class IpvsPendingCleanup implements PendingCleanup {
  readonly #open: () => Promise<IpvsRuntime>
  readonly #inputs: () => ModeInputs<IpvsConfiguration>
  #mode: Mode | undefined

  constructor(open: () => Promise<IpvsRuntime>, inputs: () => ModeInputs<IpvsConfiguration>) {
    this.#open = open
    this.#inputs = inputs
  }

  get draining(): number {
    return this.#mode?.draining ?? 0
  }

  async drainAndCleanup(signal: AbortSignal): Promise<void> {
    const runtime = await this.#open()
    try {
      this.#mode = runtime.build(ipvsSettings(this.#inputs()))
      await this.#mode.drainAndCleanup(signal)
    } finally {
      this.#mode = undefined
      await runtime.close()
    }
  }
}

/**
 * A kernel setting of the ipvs mode, its path below /proc/sys; `net/ipv4/vs` exists once ip_vs is
 * loaded. Source: Documentation/networking/ipvs-sysctl.rst of Linux.
 */
interface IpvsSysctl {
  readonly path: string
  readonly value: string
  readonly why: string
}

/** The other settings that the mode makes; it works without each of them. `release` as `uname -r` prints it. */
function ipvsSysctls({ ipvs }: IpvsConfiguration, release: string): readonly IpvsSysctl[] {
  return [
    {
      path: 'net/ipv4/vs/expire_nodest_conn',
      value: '1',
      why: 'a connection whose backend is gone ends at once',
    },
    {
      path: 'net/ipv4/vs/expire_quiescent_template',
      value: '1',
      why: 'a client that sticks to a backend that leaves gets another one',
    },
    ...(delaysReusedPorts(release)
      ? [{ path: 'net/ipv4/vs/conn_reuse_mode', value: '0', why: reuseReason(release) }]
      : []),
    ...(ipvs.strictARP ? STRICT_ARP : []),
  ]
}

/** What is done about net/ipv4/vs/conn_reuse_mode on this kernel, and why; for the log. */
function reuseReason(release: string): string {
  return delaysReusedPorts(release)
    ? `0: Linux ${release} delays a client that uses its port again by one second otherwise (4.1 to 5.8 do)`
    : `left as it is: Linux ${release} gives a client that uses its port again another backend without delay`
}

/** Linux 4.1 added the setting, 5.9 removed the delay; kube-proxy uses the same versions. */
function delaysReusedPorts(release: string): boolean {
  const version = linuxVersion(release)
  return version >= 4_001 && version < 5_009
}

/** The settings of the ipvs mode, from configuration, Node object, kernel and interfaces. */
export function ipvsSettings(inputs: ModeInputs<IpvsConfiguration>): IpvsSettings {
  const { config, facts } = inputs
  const { ipvs } = config
  const common = netfilterSettings(inputs)
  const { tcp, udp, sctp } = ipvs.gracefulTermination
  return {
    netfilter: {
      ...common,
      // Node ports on loopback are relayed by this process, so nothing has to be routed there.
      dropMartians: facts.routesLocalnet,
      ...(common.serviceRanges && {
        serviceRanges: networkDifference(common.serviceRanges, ipvs.excludeCIDRs),
      }),
    },
    scheduler: schedulerOf(ipvs.scheduler),
    nodeAddresses: nodeAddresses(inputs),
    excludeCIDRs: ipvs.excludeCIDRs,
    timeouts: {
      tcp: seconds(ipvs.tcpTimeout),
      tcpFin: seconds(ipvs.tcpFinTimeout),
      udp: seconds(ipvs.udpTimeout),
    },
    drain: { tcp: seconds(tcp), udp: seconds(udp), sctp: seconds(sctp) },
  }
}

/** The scheduler of Services whose annotation names none. */
function schedulerOf(configured: string): string {
  return configured === '' ? DEFAULT_SCHEDULER : configured
}

/** Milliseconds as whole seconds for the kernel, rounded up so that no duration becomes 0. */
function seconds(ms: number): number {
  return Math.ceil(ms / 1_000)
}
