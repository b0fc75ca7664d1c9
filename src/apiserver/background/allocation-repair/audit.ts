/** A stored allocation: an address or a port, by its key. */
export interface Allocation {
  readonly key: string
  readonly revision: number
  /** Storage key of the Service that it was made for; empty when the allocation cannot be read. */
  readonly owner: string
}

/** A Service that has addresses or ports in its fields. */
export interface Holder {
  /** Its storage key. */
  readonly key: string
  readonly revision: number
  readonly createRevision: number
  /** Allocation keys of its addresses and ports. */
  readonly holds: ReadonlySet<string>
}

/** The allocations and the Services that hold them, at one revision. */
export interface Holdings {
  readonly allocations: readonly Allocation[]
  readonly holders: readonly Holder[]
  /** Storage keys of Services that cannot be read: their addresses and ports are unknown. */
  readonly unreadable: ReadonlySet<string>
}

/** A Service and one of its addresses or ports that is not allocated as it should be. */
export interface Claim {
  /** The allocation key. */
  readonly key: string
  /** The revision of the stored allocation; 0: none. */
  readonly revision: number
  readonly holder: Holder
}

/** The differences between allocations and Services. */
export interface Audit {
  /** Allocations that no Service holds. */
  readonly leaked: readonly Allocation[]
  /** Addresses and ports of Services whose allocation is missing, or names a Service that does not have them. */
  readonly missing: readonly Claim[]
  /** Addresses and ports that a Service has although another Service owns them. */
  readonly duplicates: readonly Claim[]
  /** Addresses and ports of Services outside of the present ranges. */
  readonly outside: readonly Claim[]
}

/**
 * Compares allocations with the Services of the same revision. When several Services have the same address or
 * port, it belongs to the Service that the allocation names, else to the oldest. An unreadable Service keeps
 * its allocations. While there is an unreadable Service, allocations that name no Service are also kept,
 * because they may belong to it.
 */
export function auditAllocations(
  { allocations, holders, unreadable }: Holdings,
  isInRange: (key: string) => boolean,
): Audit {
  const stored = new Map(allocations.map((one) => [one.key, one]))
  const byKey = holdersByKey(holders)
  const missing: Claim[] = []
  const duplicates: Claim[] = []
  const outside: Claim[] = []
  for (const [key, claimants] of byKey) {
    const allocation = stored.get(key)
    const revision = allocation?.revision ?? 0
    const isOwnerUnreadable = allocation !== undefined && unreadable.has(allocation.owner)
    const named = claimants.find((one) => one.key === allocation?.owner)
    const owner = isOwnerUnreadable ? undefined : (named ?? claimants[0]!)
    if (owner !== undefined && owner !== named) missing.push({ key, revision, holder: owner })
    for (const holder of claimants) {
      if (holder !== owner) duplicates.push({ key, revision, holder })
      if (!isInRange(key)) outside.push({ key, revision, holder })
    }
  }
  const isKept = (owner: string): boolean =>
    unreadable.has(owner) || (owner === '' && unreadable.size > 0)
  const leaked = allocations.filter(({ key, owner }) => !byKey.has(key) && !isKept(owner))
  return { leaked, missing, duplicates, outside }
}

/** The Services with each address or port, the oldest first. */
function holdersByKey(holders: readonly Holder[]): ReadonlyMap<string, readonly Holder[]> {
  const byKey = new Map<string, Holder[]>()
  for (const holder of holders.toSorted((a, b) => a.createRevision - b.createRevision)) {
    for (const key of holder.holds) byKey.set(key, [...(byKey.get(key) ?? []), holder])
  }
  return byKey
}
