import type { Addresses } from '../../../kernel/addresses/addresses.ts'
import { isDeepEqual } from '../../../lib/equal.ts'
import type { IpAddress } from '../../../lib/ip.ts'
import type { Logger } from '../../../telemetry/logger.ts'

/**
 * The addresses of this node's interfaces, without those of link scope, which change with every pod and
 * serve no Service.
 */
export class LocalAddresses {
  readonly #addresses: Addresses
  readonly #log: Logger
  #current: readonly IpAddress[] = []

  constructor(addresses: Addresses, log: Logger) {
    this.#addresses = addresses
    this.#log = log
  }

  get current(): readonly IpAddress[] {
    return this.#current
  }

  /** Reads the addresses, and calls back after each change. @returns stops it */
  async follow(onChange: () => void): Promise<() => void> {
    const stop = this.#addresses.watch(() => {
      void this.#read().then((changed) => {
        if (changed) onChange()
      })
    })
    await this.#read()
    return stop
  }

  /** @returns whether the addresses changed; after a failure the last known ones stay */
  async #read(): Promise<boolean> {
    try {
      const all = await this.#addresses.list()
      const next = all.filter(({ scope }) => scope !== 'link').map(({ ip }) => ip)
      if (isDeepEqual(next, this.#current)) return false
      this.#current = next
      return true
    } catch (error) {
      this.#log.warn(
        { err: error },
        'reading the addresses of this node failed; the last known ones stay in use',
      )
      return false
    }
  }
}
