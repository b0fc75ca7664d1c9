import { noopConntrack } from '../../../kernel/conntrack/conntrack.ts'
import { readOnlySets } from '../../../kernel/ipset/sets.ts'
import { readOnlyIptables } from '../../../kernel/iptables/iptables.ts'
import { noopMonitor } from '../../../kernel/nftables/nftables-monitor.ts'
import { readOnlyRoutes } from '../../../kernel/route/routes.ts'
import type { Clock } from '../../../lib/clock.ts'
import { formatDuration } from '../../../lib/duration.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type {
  ModeDriver,
  ModeSpec,
  PendingCleanup,
  Periods,
  Readiness,
} from '../../definition/mode-driver.ts'
import type { ModeReview, ModeView } from '../../definition/mode-view.ts'
import type { Missing, MissingRequirement, Probe } from '../../mode.ts'
import type { NetfilterAccess } from '../../netfilter/access.ts'
import { ownMark } from '../../netfilter/mark.ts'
import { kindOf } from '../../netfilter/object-key.ts'
import { RuleLines } from '../../netfilter/rule-lines.ts'
import type { NetfilterConfiguration } from '../../netfilter/settings/configuration.ts'
import type { ModeInputs } from '../../netfilter/settings/settings.ts'
import type { PortsByFamily } from '../forwarder.ts'
import {
  createManagedState,
  observe,
  portsInKernel,
  type RedirectKernel,
} from '../managed-state.ts'
import type { UserspaceSettings } from '../settings.ts'
import { listenErrors, reviewBindings } from './binding-conditions.ts'
import { chooseEntry } from './choose-entry.ts'
import type { UserspaceConfiguration } from './configuration.ts'
import type { Ending, UserspaceRuntime } from './userspace-runtime.ts'
import { userspaceSettings } from './userspace-settings.ts'

/** What the driver needs of the machine, and how it opens the mode's code. */
export interface UserspaceDriverParts {
  readonly netfilter: NetfilterAccess
  readonly clock: Clock
  readonly log: Logger
  /** Opens a mode that works: starts the workers; those of `former` may still have clients. */
  readonly open: (
    config: NetfilterConfiguration & UserspaceConfiguration,
    entry: UserspaceRuntime['entry'],
    former: UserspaceRuntime | undefined,
  ) => Promise<UserspaceRuntime>
  /** Opens a mode that only reads. */
  readonly view: (settings: UserspaceSettings) => Promise<ModeView>
  /** Removes what an earlier run may have left; undefined if rules cannot be written. */
  readonly leftovers: (
    inputs: () => ModeInputs<UserspaceConfiguration>,
  ) => PendingCleanup | undefined
}

/** Time between two full reads if a monitor reports changes: then they are only a second check. */
const VERIFY_MS = 600_000
/** At the end of the shutdown time no new connection is accepted, so that the last ones can end. */
const LAST_MS = 1_000
const AT_ONCE: Ending = { stopAccepting: AbortSignal.abort(), closeAll: AbortSignal.abort() }

/** The userspace mode. Its code is loaded and its workers start when it is first prepared. */
export class UserspaceDriver implements ModeDriver<UserspaceConfiguration> {
  readonly name = 'userspace'
  readonly #parts: UserspaceDriverParts
  #runtime: UserspaceRuntime | undefined
  /** Earlier runtimes; some of their connections may go on. */
  readonly #former = new Set<UserspaceRuntime>()
  #shutdownMs = 0

  constructor(parts: UserspaceDriverParts) {
    this.#parts = parts
  }

  /** Where packets are redirected, iptables and its rights are there. */
  get standIn(): string | undefined {
    return this.#runtime?.entry === 'redirect' ? 'iptables' : undefined
  }

  demands({ userspace, iptables }: NetfilterConfiguration & UserspaceConfiguration): unknown {
    return { binds: userspace.bindMap.length > 0, mark: ownMark(iptables) }
  }

  async prepare(inputs: ModeInputs<UserspaceConfiguration>): Promise<Readiness> {
    const { config } = inputs
    const choice = chooseEntry(config, this.#parts.netfilter)
    if (!choice.ok) return { missing: choice.missing, facts: {} }
    const { entry } = choice
    try {
      const { missing, facts } = await this.#tryRuntime(inputs, entry)
      return { missing: missing.map(asRequirement), facts: { entry, ...facts } }
    } catch (error) {
      if (!(error instanceof NodeProxyError)) throw error
      const remedy = error.hint ?? 'docs/errors.md describes the code of this error'
      return { missing: [{ code: error.code, what: error.message, remedy }], facts: { entry } }
    }
  }

  spec(inputs: ModeInputs<UserspaceConfiguration>): ModeSpec {
    const runtime = this.#runtime
    if (runtime === undefined) throw new TypeError('the userspace mode is not prepared')
    const { config } = inputs
    const settings = userspaceSettings(inputs, runtime.entry)
    const { syncPeriod, minSyncPeriod } = this.periods(config)
    return {
      mode: this.name,
      // Bindings are compared in their configured form, because a Map cannot be compared.
      settings: { settings, bindMap: config.userspace.bindMap, mark: ownMark(config.iptables) },
      minPeriodMs: minSyncPeriod,
      verifyPeriodMs: runtime.hasRuleMonitor ? VERIFY_MS : syncPeriod,
      build: () => runtime.build(settings),
    }
  }

  async view(inputs: ModeInputs<UserspaceConfiguration>): Promise<ModeView> {
    const choice = chooseEntry(inputs.config, this.#parts.netfilter)
    if (choice.ok) return this.#parts.view(userspaceSettings(inputs, choice.entry))
    const [first] = choice.missing
    const code = first?.code ?? 'NP_USERSPACE_KERNEL'
    const what = choice.missing.map((each) => each.what).join('; ')
    throw new NodeProxyError(code, what, { hint: first?.remedy ?? '' })
  }

  periods({ userspace }: UserspaceConfiguration): Periods {
    return userspace
  }

  /** No kernel setting is needed; only the shutdown of this mode depends on the configuration. */
  tune({ userspace }: UserspaceConfiguration): void {
    this.#shutdownMs = userspace.shutdownTimeout
  }

  readonly review: ModeReview<UserspaceConfiguration> = {
    ...listenErrors,
    services: (conditions, { config, isAtWork, serviceOf }) => {
      const bound = this.#runtime?.entry === 'bind' ? config.userspace.bindMap : 'unused'
      const bindings = isAtWork ? bound : undefined
      reviewBindings(conditions, { config, bindings, serviceOf })
    },
  }

  /** Clients on loopback are served by sockets: nothing is routed. */
  loopbackGuards(): undefined {}

  /** Always false: the process to which rules of an earlier run bring packets has ended. */
  async isServing(): Promise<boolean> {
    return false
  }

  leftovers(inputs: () => ModeInputs<UserspaceConfiguration>): PendingCleanup | undefined {
    return this.#parts.leftovers(inputs)
  }

  async recover(): Promise<void> {}

  /** Connections live in this process, so they get time to end. */
  async close(): Promise<void> {
    const runtimes = [...this.#former, ...(this.#runtime ? [this.#runtime] : [])]
    this.#former.clear()
    this.#runtime = undefined
    if (runtimes.length > 0) {
      const shutdownTimeout = formatDuration(this.#shutdownMs)
      this.#parts.log.info({ shutdownTimeout }, 'connections of userspace mode have time to end')
    }
    const [stopAccepting, closeAll] = [new AbortController(), new AbortController()]
    const { clock } = this.#parts
    const lastMs = Math.min(LAST_MS, this.#shutdownMs / 2)
    const cancels = [
      clock.after(this.#shutdownMs - lastMs, () => stopAccepting.abort()),
      clock.after(this.#shutdownMs, () => closeAll.abort()),
    ]
    const ending = { stopAccepting: stopAccepting.signal, closeAll: closeAll.signal }
    await Promise.all(runtimes.map((runtime) => runtime.close(ending))).finally(() => {
      for (const cancel of cancels) cancel()
    })
  }

  /** Adopts the runtime if nothing is missing; otherwise the previous one stays. */
  async #tryRuntime(
    inputs: ModeInputs<UserspaceConfiguration>,
    entry: UserspaceRuntime['entry'],
  ): Promise<Probe> {
    const before = this.#runtime
    const { config } = inputs
    if (before?.suits(config)) return probe(before, inputs)
    const runtime = await this.#parts.open(config, entry, before)
    let isKept = false
    try {
      const found = await probe(runtime, inputs)
      isKept = found.missing.length === 0
      return found
    } finally {
      if (isKept) this.#replace(before, runtime)
      else await runtime.close(AT_ONCE)
    }
  }

  #replace(before: UserspaceRuntime | undefined, runtime: UserspaceRuntime): void {
    if (before) this.#former.add(before)
    this.#runtime = runtime
  }
}

function probe(
  runtime: UserspaceRuntime,
  inputs: ModeInputs<UserspaceConfiguration>,
): Promise<Probe> {
  return runtime.build(userspaceSettings(inputs, runtime.entry)).probe()
}

function asRequirement(missing: Missing): MissingRequirement {
  return { code: 'NP_USERSPACE_KERNEL', ...missing }
}

/** The kernel interfaces that the view reads; undefined if nothing is redirected: then nothing is in the kernel. */
type UserspaceViewKernel = Pick<RedirectKernel, 'iptables' | 'sets' | 'routes' | 'clock'>

/**
 * A read-only view of the userspace mode. The ports at which the workers of a running node-proxy listen are read from
 * the rules in the kernel.
 */
export async function viewUserspace(
  settings: UserspaceSettings,
  kernel: UserspaceViewKernel | undefined,
): Promise<ModeView> {
  const iptables = kernel && readOnlyIptables(kernel.iptables)
  const ports: PortsByFamily = iptables === undefined ? new Map() : await portsInKernel(iptables)
  const state = createManagedState(settings, {
    ports,
    ...(kernel &&
      iptables && {
        kernel: {
          iptables,
          clock: kernel.clock,
          monitor: noopMonitor,
          conntrack: noopConntrack,
          sets: readOnlySets(kernel.sets),
          routes: readOnlyRoutes(kernel.routes),
        },
      }),
  })
  const { program } = state
  const rules = new RuleLines(program, iptables)
  return {
    program,
    caveats: [],
    drains: true,
    ownPorts: new Set([...ports.values()].flatMap(({ pods, others }) => [pods, others])),
    isInProcess: (key) => kindOf(key) === 'entry',
    observe: () => observe(state, undefined),
    wantedLines: (key) => rules.wanted(key),
    heldLines: (key) => rules.held(key),
    close: async () => kernel?.routes.close(),
  }
}
