import type { Addresses, InterfaceAddress } from '../addresses.ts'

/** Addresses that the test sets; setting them notifies the watchers. */
export class FakeAddresses implements Addresses {
  #addresses: readonly InterfaceAddress[]
  readonly #watchers = new Set<() => void>()

  constructor(addresses: readonly InterfaceAddress[] = []) {
    this.#addresses = addresses
  }

  async list(): Promise<readonly InterfaceAddress[]> {
    return this.#addresses
  }

  watch(onChange: () => void): () => void {
    this.#watchers.add(onChange)
    return () => this.#watchers.delete(onChange)
  }

  set(addresses: readonly InterfaceAddress[]): void {
    this.#addresses = addresses
    for (const onChange of this.#watchers) onChange()
  }
}
