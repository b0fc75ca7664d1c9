import type { Addresses } from '../../../kernel/addresses/addresses.ts'
import { isDeepEqual } from '../../../lib/equal.ts'
import type { IpAddress } from '../../../lib/ip.ts'
import type { Logger } from '../../../telemetry/logger.ts'

/**
 * The addresses of this node's interfaces. Link-local ones come and go with every
 * pod and serve nothing, so they neither count nor call anybody.
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

  /** Reads them, and calls back whenever they have changed. The result stops it. */
  async follow(onChange: () => void): Promise<() => void> {
    const stop = this.#addresses.watch(() => {
      void this.#read().then((changed) => {
        if (changed) onChange()
      })
    })
    await this.#read()
    return stop
  }

  /** Whether they are others now; what cannot be read stays as it was. */
  async #read(): Promise<boolean> {
    try {
      const all = await this.#addresses.list()
      const next = all.filter(({ scope }) => scope !== 'link').map(({ ip }) => ip)
      if (isDeepEqual(next, this.#current)) return false
      this.#current = next
      return true
    } catch (error) {
      this.#log.warn({ err: error }, 'the addresses of this node cannot be read')
      return false
    }
  }
}
