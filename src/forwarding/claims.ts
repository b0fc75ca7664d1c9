import type { Brand } from '../lib/brand.ts'
import type { IpAddress } from '../lib/ip.ts'
import type { ServiceKey } from '../resources/types.ts'
import { compareText, type EntryId, type ForwardingEntry, type Frontend } from './entry.ts'

/** A protocol, family, address and port, which at most one entry may hold: `TCP/4/10.0.0.1:80`, `UDP/6/node:30053`. */
export type ClaimKey = Brand<string, 'ClaimKey'>

/** The addresses that one Service requests. */
export interface ServiceClaims {
  readonly entries: readonly ForwardingEntry[]
  /** Its ClusterIPs, also if this node does not serve the Service. */
  readonly clusterIPs: readonly IpAddress[]
}

/**
 * Why an entry does not get a frontend: the address is the ClusterIP of another Service, or another entry claims the
 * same ip:port:protocol and has a smaller id. Undefined if it gets the frontend.
 */
export type Denial =
  | { readonly by: 'clusterIP'; readonly winner: ServiceKey }
  | { readonly by: 'entry'; readonly winner: EntryId }
  | undefined

interface Claim {
  readonly entry: EntryId
  readonly service: ServiceKey
  /** The address, if it is an externalIP or a load balancer address: such a claim yields to a foreign ClusterIP. */
  readonly external: IpAddress | undefined
}

/**
 * Decides which entry holds each ip:port:protocol. Of several claims the one with the smallest entry id wins,
 * on every node and in any order of arrival. A claim to an externalIP or load balancer address that is
 * another Service's ClusterIP loses, whatever the port (CVE-2020-8554). The result depends on the present
 * claims alone; a change costs the claims to the same addresses.
 */
export class Claims {
  readonly #claims = new Map<ClaimKey, readonly Claim[]>()
  /** The claims to each externalIP and load balancer address. */
  readonly #externalKeys = new Map<IpAddress, Set<ClaimKey>>()
  readonly #owners = new ClusterIPOwners()

  /**
   * Replaces the claims of one Service. Returns every entry whose frontends may have changed: those of the Service,
   * and others that claim the same addresses.
   */
  replace(service: ServiceKey, before: ServiceClaims, after: ServiceClaims): ReadonlySet<EntryId> {
    const touched = new Set<ClaimKey>()
    this.#replaceClusterIPs(service, before.clusterIPs, after.clusterIPs, touched)
    for (const entry of before.entries) {
      for (const frontend of entry.frontends) this.#removeClaim(entry, frontend, touched)
    }
    const affected = new Set<EntryId>([...before.entries, ...after.entries].map(({ id }) => id))
    for (const entry of after.entries) {
      for (const frontend of entry.frontends) this.#addClaim(entry, frontend, touched)
    }
    for (const key of touched) {
      for (const claim of this.#claims.get(key) ?? []) affected.add(claim.entry)
    }
    return affected
  }

  /** Why `entry`, one of the present claims, does not hold `frontend`; undefined if it does. */
  denial(entry: ForwardingEntry, frontend: Frontend): Denial {
    const external = externalAddress(frontend)
    const owner = external && this.#owners.otherThan(entry.service, external)
    if (owner !== undefined) return { by: 'clusterIP', winner: owner }
    const winner = this.holder(claimKey(entry, frontend))
    if (winner === undefined || winner === entry.id) return undefined
    return { by: 'entry', winner }
  }

  /** The entry that holds an ip:port:protocol; undefined if none does. */
  holder(key: ClaimKey): EntryId | undefined {
    return this.#claims.get(key)?.find((claim) => !this.#yields(claim))?.entry
  }

  /** The Services whose ClusterIP this is, sorted; more than one only by mistake. */
  ownersOf(ip: IpAddress): readonly ServiceKey[] {
    return this.#owners.of(ip)
  }

  #yields({ external, service }: Claim): boolean {
    return external !== undefined && this.#owners.otherThan(service, external) !== undefined
  }

  #replaceClusterIPs(
    service: ServiceKey,
    before: readonly IpAddress[],
    after: readonly IpAddress[],
    touched: Set<ClaimKey>,
  ): void {
    const gone = before.filter((ip) => !after.includes(ip))
    const fresh = after.filter((ip) => !before.includes(ip))
    for (const ip of gone) this.#owners.remove(ip, service)
    for (const ip of fresh) this.#owners.add(ip, service)
    for (const ip of [...gone, ...fresh]) {
      for (const key of this.#externalKeys.get(ip) ?? []) touched.add(key)
    }
  }

  #addClaim(entry: ForwardingEntry, frontend: Frontend, touched: Set<ClaimKey>): void {
    const key = claimKey(entry, frontend)
    const external = externalAddress(frontend)
    const claim: Claim = { entry: entry.id, service: entry.service, external }
    const others = this.#claims.get(key)
    if (others === undefined) this.#claims.set(key, [claim])
    else {
      const all = [...others, claim].sort((a, b) => compareText(a.entry, b.entry))
      this.#claims.set(key, all)
      touched.add(key)
    }
    if (external === undefined) return
    const keys = this.#externalKeys.get(external)
    if (keys === undefined) this.#externalKeys.set(external, new Set([key]))
    else keys.add(key)
  }

  #removeClaim(entry: ForwardingEntry, frontend: Frontend, touched: Set<ClaimKey>): void {
    const key = claimKey(entry, frontend)
    const rest = this.#claims.get(key)?.filter((claim) => claim.entry !== entry.id) ?? []
    if (rest.length > 0) {
      this.#claims.set(key, rest)
      touched.add(key)
    } else this.#claims.delete(key)
    const external = externalAddress(frontend)
    if (external === undefined || rest.some((claim) => claim.external === external)) return
    const keys = this.#externalKeys.get(external)
    keys?.delete(key)
    if (keys?.size === 0) this.#externalKeys.delete(external)
  }
}

function externalAddress({ kind, ip }: Frontend): IpAddress | undefined {
  return kind === 'clusterIP' || ip === 'node' ? undefined : ip
}

/** The Services of each ClusterIP; an address has more than one only by mistake. */
class ClusterIPOwners {
  readonly #owners = new Map<IpAddress, readonly ServiceKey[]>()

  /** Adds a Service that does not own `ip` yet. */
  add(ip: IpAddress, service: ServiceKey): void {
    const owners = this.#owners.get(ip) ?? []
    this.#owners.set(ip, [...owners, service].sort(compareText))
  }

  /** Removes a Service; no effect if it does not own `ip`. */
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

/** The key of one frontend of an entry. */
export function claimKey(
  { protocol, family }: Pick<ForwardingEntry, 'protocol' | 'family'>,
  { ip, port }: Pick<Frontend, 'ip' | 'port'>,
): ClaimKey {
  return `${protocol}/${family}/${ip}:${port}` as ClaimKey
}
