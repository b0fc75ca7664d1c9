import type { Iptables } from '../../kernel/iptables/iptables.ts'
import type { Sysctl } from '../../kernel/sysctl.ts'
import { systemClock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { Mutex } from '../../lib/mutex.ts'
import { type FoundRouting, LoopbackGuard } from '../../modes/netfilter/loopback-guard.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { MODES } from '../config/fields/mode-registry.ts'
import { ROUTE_LOCALNET, routesLocalnet } from '../kernel/sysctls.ts'

/** What `LoopbackRouting` uses. */
export interface LoopbackRoutingParts {
  readonly sysctl: Sysctl
  /** The variants of iptables. The first one writes guards; each of them may have guards in the kernel. */
  readonly iptables: readonly Iptables[]
  /** Whether the kernel has the guard of a mode that writes its rules without iptables. Absent: no mode has one. */
  readonly otherGuard?: () => Promise<boolean>
  readonly log: Logger
}

/**
 * The chains of the modes' own guards. If the kernel has such a guard, but none of a `LoopbackGuard`, an earlier
 * version of node-proxy opened loopback routing: it did not record the previous setting.
 */
const MODE_GUARD_CHAINS = MODES.flatMap(({ loopbackGuard }) => loopbackGuard ?? [])

/**
 * Opens 127.0.0.0/8 to routing (route_localnet = 1) and closes it again. No packet of a neighbour finds it open without
 * a guard (CVE-2020-8558): the guard is written before the setting, and removed after the setting was read back as 0.
 * The name of the guard's chain records in the kernel what the previous setting was (`FoundRouting`).
 */
export class LoopbackRouting {
  readonly #parts: LoopbackRoutingParts
  readonly #guards: readonly LoopbackGuard[]
  readonly #mutex = new Mutex()
  /** Whether loopback routing was open at the start. If it was not, no earlier version of node-proxy had opened it. */
  readonly #wasOpenAtStart: boolean

  constructor(parts: LoopbackRoutingParts) {
    this.#parts = parts
    this.#wasOpenAtStart = routesLocalnet(parts.sysctl)
    this.#guards = parts.iptables.map((iptables) => new LoopbackGuard(iptables))
  }

  /** Whether route_localnet is 1 now, whichever program set it. */
  get isOpen(): boolean {
    return routesLocalnet(this.#parts.sysctl)
  }

  /**
   * Writes the guard, then the setting; then removes a guard that records another program's setting from before. If
   * loopback routing is open already, writes the guard alone.
   * @throws the errors of iptables and sysctl
   */
  open(): Promise<void> {
    return this.#mutex.run(async () => {
      if (this.isOpen) return this.#guardIfOpen()
      await this.#writeGuard('closed')
      this.#setSysctl('1')
      await this.#removeGuards(['open'])
    })
  }

  /** Writes the guard if loopback routing is open, whichever program opened it. @throws the errors of iptables */
  guard(): Promise<void> {
    return this.#mutex.run(() => this.#guardIfOpen())
  }

  /**
   * Closes loopback routing if node-proxy opened it, and removes the guard. `kept`: another program had opened it
   * before, so it stays open and guarded. `unguarded`: another program has opened it, and there is no guard yet.
   * @throws NP_NODEPROXY_LOOPBACK_OPEN if the setting cannot be set to 0, and the guard stays; the errors of iptables
   */
  close(): Promise<'closed' | 'kept' | 'unguarded'> {
    return this.#mutex.run(async () => {
      const found = await this.#previousSetting()
      if (found === 'open' && this.isOpen) return 'kept'
      if (found === undefined) return this.isOpen ? 'unguarded' : 'closed'
      if (this.isOpen) await this.#setClosed()
      await this.#removeGuards()
      return 'closed'
    })
  }

  /** Removes only the guard, for the case that another program had opened loopback. @throws the errors of iptables */
  unguard(): Promise<void> {
    return this.#mutex.run(() => this.#removeGuards())
  }

  async #guardIfOpen(): Promise<void> {
    if (this.isOpen) await this.#writeGuard((await this.#previousSetting()) ?? 'open')
  }

  /** Sets route_localnet to 0 and reads it back. If it is still 1, writes the guard and throws. */
  async #setClosed(): Promise<void> {
    let cause: unknown
    try {
      this.#setSysctl('0')
    } catch (error) {
      cause = error
    }
    if (!this.isOpen) return
    await this.#writeGuard('closed')
    throw new NodeProxyError(
      'NP_NODEPROXY_LOOPBACK_OPEN',
      `node-proxy opened ${ROUTE_LOCALNET} and cannot set it to 0; the guard NPGUARD-OPENED stays`,
      {
        object: ROUTE_LOCALNET,
        hint: `set it on the host: sysctl -w ${ROUTE_LOCALNET}=0, or mount /proc/sys writable; then repeat this`,
        cause,
      },
    )
  }

  #setSysctl(value: string): void {
    const { sysctl, log } = this.#parts
    if (sysctl.ensure(ROUTE_LOCALNET, value)) {
      log.info({ sysctl: ROUTE_LOCALNET, value }, 'set a kernel setting')
    }
  }

  /** The previous setting as the guards record it; undefined: there is no guard. */
  async #previousSetting(): Promise<FoundRouting | undefined> {
    const recorded = new Set<FoundRouting>()
    for (const guard of this.#guards) for (const found of await guard.found()) recorded.add(found)
    if (recorded.has('closed') || (recorded.size === 0 && (await this.#isOfEarlierVersion()))) {
      return 'closed'
    }
    return recorded.has('open') ? 'open' : undefined
  }

  /** Whether an earlier version of node-proxy opened loopback routing; see `MODE_GUARD_CHAINS`. */
  async #isOfEarlierVersion(): Promise<boolean> {
    if (!this.#wasOpenAtStart || !this.isOpen) return false
    for (const iptables of this.#parts.iptables) {
      for (const chain of MODE_GUARD_CHAINS) {
        if ((await iptables.listChain(4, 'filter', chain)) !== undefined) return true
      }
    }
    return (await this.#parts.otherGuard?.()) ?? false
  }

  /** Writes the guard that records `found` as the previous setting. */
  async #writeGuard(found: FoundRouting): Promise<void> {
    await this.#guards[0]?.write(found)
  }

  /** Removes the guards of all variants of iptables, or only those that record one of `which`. */
  async #removeGuards(which?: readonly FoundRouting[]): Promise<void> {
    for (const guard of this.#guards) await guard.remove(which)
  }
}

/** Whether the kernel has the guard of 127.0.0.0/8 of a mode that writes its rules without iptables. */
export async function isGuardedByMode(): Promise<boolean> {
  for (const mode of MODES) if (await mode.guardsLoopback?.(systemClock)) return true
  return false
}
