import type { Iptables } from '../../../kernel/iptables/iptables.ts'
import type { Sysctl } from '../../../kernel/sysctl/sysctl.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { Mutex } from '../../../lib/mutex.ts'
import { type FoundRouting, LoopbackGuard } from '../../../modes/netfilter/loopback-guard.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import { MODES } from '../../modes/mode-registry.ts'
import { ROUTE_LOCALNET, routesLocalnet } from '../kernel/sysctls.ts'

export interface LoopbackRoutingParts {
  readonly sysctl: Sysctl
  /** The first writes guards, all of them may hold some. */
  readonly iptables: readonly Iptables[]
  readonly log: Logger
}

/** Guards of the modes. Alone they are of a version that did not keep the value it found. */
const OF_MODES = MODES.flatMap(({ loopbackGuard }) => loopbackGuard ?? [])

/**
 * Opens 127.0.0.0/8 to routing (route_localnet) and closes it again, so that no packet of a neighbour
 * meets it open and unguarded: the guard is written before the setting, and removed after the setting
 * was read back as 0. Nothing is remembered here: what node-proxy found is in the kernel.
 */
export class LoopbackRouting {
  readonly #parts: LoopbackRoutingParts
  readonly #guards: readonly LoopbackGuard[]
  readonly #mutex = new Mutex()

  constructor(parts: LoopbackRoutingParts) {
    this.#parts = parts
    this.#guards = parts.iptables.map((iptables) => new LoopbackGuard(iptables))
  }

  get isOpen(): boolean {
    return routesLocalnet(this.#parts.sysctl)
  }

  /** Opens it; throws when guard or setting cannot be written. */
  open(): Promise<void> {
    return this.#mutex.run(async () => {
      if (this.isOpen) return this.#guard()
      await this.#stand('closed')
      this.#write('1')
      await this.#remove(['open'])
    })
  }

  /** Installs the guard where loopback is open, by node-proxy or by another program. */
  guard(): Promise<void> {
    return this.#mutex.run(() => this.#guard())
  }

  /**
   * Closes it if node-proxy opened it, and removes the guard. `kept`: another program had opened it
   * before, so it stays open and guarded.
   * @throws NP_NODEPROXY_LOOPBACK_OPEN when the setting cannot be written; the guard stands then
   */
  close(): Promise<'closed' | 'kept'> {
    return this.#mutex.run(async () => {
      const found = await this.#found()
      if (found === 'open' && this.isOpen) return 'kept'
      if (found === undefined) return 'closed'
      if (this.isOpen) await this.#shut()
      await this.#remove()
      return 'closed'
    })
  }

  /** Removes the guard alone, of what another program opened. */
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
    if (!this.isOpen) return false
    for (const iptables of this.#parts.iptables) {
      for (const chain of OF_MODES) {
        if ((await iptables.listChain(4, 'filter', chain)) !== undefined) return true
      }
    }
    return false
  }

  async #stand(found: FoundRouting): Promise<void> {
    await this.#guards[0]?.stand(found)
  }

  async #remove(which?: readonly FoundRouting[]): Promise<void> {
    for (const guard of this.#guards) await guard.remove(which)
  }
}
