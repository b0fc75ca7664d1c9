import type { IpAddress } from '../lib/ip.ts'
import type { ServiceKey } from '../resources/types.ts'
import { compareText } from './compare-text.ts'

/** The Services of each ClusterIP; an address has more than one only by mistake. */
export class ClusterIPOwners {
  readonly #owners = new Map<IpAddress, readonly ServiceKey[]>()

  /** For a Service that does not own `ip` yet. */
  add(ip: IpAddress, service: ServiceKey): void {
    const owners = this.#owners.get(ip) ?? []
    this.#owners.set(ip, [...owners, service].sort(compareText))
  }

  /** Has no effect for a Service that does not own `ip`. */
  remove(ip: IpAddress, service: ServiceKey): void {
    const rest = this.#owners.get(ip)?.filter((owner) => owner !== service) ?? []
    if (rest.length === 0) this.#owners.delete(ip)
    else this.#owners.set(ip, rest)
  }

  /** All owners of `ip`, sorted. */
  of(ip: IpAddress): readonly ServiceKey[] {
    return this.#owners.get(ip) ?? []
  }

  /** The first other Service that owns `ip`. */
  otherThan(service: ServiceKey, ip: IpAddress): ServiceKey | undefined {
    return this.#owners.get(ip)?.find((owner) => owner !== service)
  }
}
