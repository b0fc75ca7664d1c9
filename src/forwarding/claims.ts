import type { IpAddress } from '../lib/ip.ts'
import type { ServiceKey } from '../resources/types.ts'
import { type ClaimKey, claimKey } from './claim-key.ts'
import { ClusterIPOwners } from './cluster-ip-owners.ts'
import type { EntryId, ForwardingEntry, Frontend } from './entry.ts'
import { compareText } from './entry-id.ts'

/** What one Service requests. */
export interface Holding {
  readonly entries: readonly ForwardingEntry[]
  /** Its ClusterIPs, also where this node does not serve it. */
  readonly clusterIPs: readonly IpAddress[]
}

/** Undefined: granted. */
export type Denial =
  | { readonly by: 'clusterIP'; readonly winner: ServiceKey }
  | { readonly by: 'rival'; readonly winner: EntryId }
  | undefined

interface Claim {
  readonly entry: EntryId
  readonly service: ServiceKey
  /** Set on externalIP and load balancer claims, which yield to a foreign ClusterIP. */
  readonly guarded: IpAddress | undefined
}

/**
 * Who holds each ip:port:protocol. The smallest entry id wins, on every node and
 * in any order of arrival; an externalIP or load balancer address that is some
 * other Service's ClusterIP loses whatever the port (CVE-2020-8554). The answer
 * depends on the present claims alone; a change costs the claims it touches.
 */
export class Claims {
  readonly #claims = new Map<ClaimKey, readonly Claim[]>()
  readonly #guarded = new Map<IpAddress, Set<ClaimKey>>()
  readonly #owners = new ClusterIPOwners()

  /** Returns every entry whose grants may differ now: the Service's own and its rivals. */
  replace(service: ServiceKey, before: Holding, after: Holding): ReadonlySet<EntryId> {
    const touched = new Set<ClaimKey>()
    this.#moveClusterIPs(service, before.clusterIPs, after.clusterIPs, touched)
    for (const entry of before.entries) {
      for (const frontend of entry.frontends) this.#withdraw(entry, frontend, touched)
    }
    const affected = new Set<EntryId>([...before.entries, ...after.entries].map(({ id }) => id))
    for (const entry of after.entries) {
      for (const frontend of entry.frontends) this.#enter(entry, frontend, touched)
    }
    for (const key of touched) {
      for (const claim of this.#claims.get(key) ?? []) affected.add(claim.entry)
    }
    return affected
  }

  denial(entry: ForwardingEntry, frontend: Frontend): Denial {
    const guarded = guardedAddress(frontend)
    const owner = guarded && this.#owners.otherThan(entry.service, guarded)
    if (owner !== undefined) return { by: 'clusterIP', winner: owner }
    const winner = this.holder(claimKey(entry, frontend))
    if (winner === undefined || winner === entry.id) return undefined
    return { by: 'rival', winner }
  }

  holder(key: ClaimKey): EntryId | undefined {
    return this.#claims.get(key)?.find((claim) => !this.#yields(claim))?.entry
  }

  ownersOf(ip: IpAddress): readonly ServiceKey[] {
    return this.#owners.of(ip)
  }

  #yields({ guarded, service }: Claim): boolean {
    return guarded !== undefined && this.#owners.otherThan(service, guarded) !== undefined
  }

  #moveClusterIPs(
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
      for (const key of this.#guarded.get(ip) ?? []) touched.add(key)
    }
  }

  #enter(entry: ForwardingEntry, frontend: Frontend, touched: Set<ClaimKey>): void {
    const key = claimKey(entry, frontend)
    const guarded = guardedAddress(frontend)
    const claim: Claim = { entry: entry.id, service: entry.service, guarded }
    const rivals = this.#claims.get(key)
    if (rivals === undefined) this.#claims.set(key, [claim])
    else {
      const all = [...rivals, claim].sort((a, b) => compareText(a.entry, b.entry))
      this.#claims.set(key, all)
      touched.add(key)
    }
    if (guarded === undefined) return
    const keys = this.#guarded.get(guarded)
    if (keys === undefined) this.#guarded.set(guarded, new Set([key]))
    else keys.add(key)
  }

  #withdraw(entry: ForwardingEntry, frontend: Frontend, touched: Set<ClaimKey>): void {
    const key = claimKey(entry, frontend)
    const rest = this.#claims.get(key)?.filter((claim) => claim.entry !== entry.id) ?? []
    if (rest.length > 0) {
      this.#claims.set(key, rest)
      touched.add(key)
    } else this.#claims.delete(key)
    const guarded = guardedAddress(frontend)
    if (guarded === undefined || rest.some((claim) => claim.guarded === guarded)) return
    const keys = this.#guarded.get(guarded)
    keys?.delete(key)
    if (keys?.size === 0) this.#guarded.delete(guarded)
  }
}

function guardedAddress({ kind, ip }: Frontend): IpAddress | undefined {
  return kind === 'clusterIP' || ip === 'node' ? undefined : ip
}
