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
  /** Variants of iptables: the first one writes guards, and all may have some. */
  readonly iptables: readonly Iptables[]
  /** Whether the guard of a mode that writes its rules without iptables is in the kernel; absent: no mode has one. */
  readonly otherGuard?: () => Promise<boolean>
  readonly log: Logger
}

/** The chains of the modes' own guards. If they are the only guards, a version that recorded no setting wrote them. */
const OF_MODES = MODES.flatMap(({ loopbackGuard }) => loopbackGuard ?? [])

/**
 * Opens 127.0.0.0/8 to routing (route_localnet) and closes it again. No packet of a neighbour finds it
 * open without a guard (CVE-2020-8558): the guard is written before the setting, and removed after the setting
 * was read back as 0. The previous setting is recorded in the kernel, by the chain of the guard.
 */
export class LoopbackRouting {
  readonly #parts: LoopbackRoutingParts
  readonly #guards: readonly LoopbackGuard[]
  readonly #mutex = new Mutex()
  /** Whether loopback was open at the start. If not, no earlier version of node-proxy opened it. */
  readonly #wasOpenAtStart: boolean

  constructor(parts: LoopbackRoutingParts) {
    this.#parts = parts
    this.#wasOpenAtStart = routesLocalnet(parts.sysctl)
    this.#guards = parts.iptables.map((iptables) => new LoopbackGuard(iptables))
  }

  /** Whether route_localnet is set, by any program. */
  get isOpen(): boolean {
    return routesLocalnet(this.#parts.sysctl)
  }

  /** Writes the guard, then the setting. @throws the errors of iptables and sysctl */
  open(): Promise<void> {
    return this.#mutex.run(async () => {
      if (this.isOpen) return this.#guard()
      await this.#stand('closed')
      this.#write('1')
      await this.#remove(['open'])
    })
  }

  /** Writes the guard if loopback is open, by node-proxy or by another program. @throws the errors of iptables */
  guard(): Promise<void> {
    return this.#mutex.run(() => this.#guard())
  }

  /**
   * Closes loopback if node-proxy opened it, and removes the guard. `kept`: another program had opened it
   * before, so it stays open and guarded. `unguarded`: another program has opened it, and no guard stands yet.
   * @throws NP_NODEPROXY_LOOPBACK_OPEN when the setting cannot be written; the guard stays then
   */
  close(): Promise<'closed' | 'kept' | 'unguarded'> {
    return this.#mutex.run(async () => {
      const found = await this.#found()
      if (found === 'open' && this.isOpen) return 'kept'
      if (found === undefined) return this.isOpen ? 'unguarded' : 'closed'
      if (this.isOpen) await this.#shut()
      await this.#remove()
      return 'closed'
    })
  }

  /** Removes only the guard, when another program had opened loopback. @throws the errors of iptables */
  unguard(): Promise<void> {
    return this.#mutex.run(() => this.#remove())
  }

  async #guard(): Promise<void> {
    if (this.isOpen) await this.#stand((await this.#found()) ?? 'open')
  }

  async #shut(): Promise<void> {
    let cause: unknown
    try {
      this.#write('0')
    } catch (error) {
      cause = error
    }
    if (!this.isOpen) return
    await this.#stand('closed')
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

  #write(value: string): void {
    const { sysctl, log } = this.#parts
    if (sysctl.ensure(ROUTE_LOCALNET, value)) {
      log.info({ sysctl: ROUTE_LOCALNET, value }, 'set a kernel setting')
    }
  }

  async #found(): Promise<FoundRouting | undefined> {
    const kept = new Set<FoundRouting>()
    for (const guard of this.#guards) for (const found of await guard.found()) kept.add(found)
    if (kept.has('closed') || (kept.size === 0 && (await this.#isOfEarlierVersion()))) {
      return 'closed'
    }
    return kept.has('open') ? 'open' : undefined
  }

  async #isOfEarlierVersion(): Promise<boolean> {
    if (!this.#wasOpenAtStart || !this.isOpen) return false
    for (const iptables of this.#parts.iptables) {
      for (const chain of OF_MODES) {
        if ((await iptables.listChain(4, 'filter', chain)) !== undefined) return true
      }
    }
    return (await this.#parts.otherGuard?.()) ?? false
  }

  async #stand(found: FoundRouting): Promise<void> {
    await this.#guards[0]?.stand(found)
  }

  async #remove(which?: readonly FoundRouting[]): Promise<void> {
    for (const guard of this.#guards) await guard.remove(which)
  }
}

/** Whether the kernel has the guard of 127.0.0.0/8 of a mode that writes its rules without iptables. */
export async function isGuardedByMode(): Promise<boolean> {
  for (const mode of MODES) if (await mode.guardsLoopback?.(systemClock)) return true
  return false
}
