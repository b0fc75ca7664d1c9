import { readFile } from 'node:fs/promises'
import type { Clock } from '../../lib/clock.ts'
import type { Family } from '../../lib/ip.ts'
import type { IptablesVariant } from '../iptables/iptables.ts'
import type { OutgoingMessage } from '../netlink/message.ts'
import { NetlinkSession } from '../netlink/session.ts'
import type { OpenTransport } from '../netlink/transport.ts'
import { type LegacyChains, openLegacyChains } from './legacy-chains.ts'
import { encodeGetChain, encodeGetTable } from './nft-message.ts'
import { processesNamed } from './processes.ts'
import type { ChainId, FoundProcess, Traces } from './traces.ts'

/**
 * Looks by single requests to nf_tables, by the legacy tables, and in /proc. Sockets are opened
 * with the first query, and belong to the network namespace of this process.
 */
export class KernelTraces implements Traces {
  readonly #open: OpenTransport
  readonly #clock: Clock
  #session: NetlinkSession | undefined
  #legacy: Promise<LegacyChains | undefined> | undefined

  constructor(open: OpenTransport, clock: Clock) {
    this.#open = open
    this.#clock = clock
  }

  async variantsWith(place: ChainId): Promise<readonly IptablesVariant[]> {
    const nft = await this.#isThere(encodeGetChain(place))
    this.#legacy ??= openLegacyChains()
    const legacy = (await (await this.#legacy)?.has(place)) ?? false
    return [...(nft ? ['nft' as const] : []), ...(legacy ? ['legacy' as const] : [])]
  }

  hasNftTable(family: Family, name: string): Promise<boolean> {
    return this.#isThere(encodeGetTable(family, name))
  }

  async devices(): Promise<ReadonlySet<string>> {
    const text = await readFile('/proc/self/net/dev', 'latin1').catch(() => '')
    return new Set([...text.matchAll(/^ *([^\s:|]+):/gm)].map(([, name = '']) => name))
  }

  processes(names: readonly string[]): Promise<readonly FoundProcess[]> {
    return processesNamed(names)
  }

  close(): void {
    this.#session?.close()
    this.#session = undefined
    void this.#legacy?.then((legacy) => legacy?.close())
    this.#legacy = undefined
  }

  /** A kernel without nf_tables, or one that refuses, holds nothing that could be seen. */
  async #isThere(question: OutgoingMessage): Promise<boolean> {
    this.#session ??= new NetlinkSession(this.#open, this.#clock)
    return (await this.#session.request(question, () => undefined)) === undefined
  }
}
