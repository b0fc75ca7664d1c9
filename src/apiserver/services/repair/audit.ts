/** An allocation as it is stored. */
export interface Allocation {
  readonly key: string
  readonly revision: number
  /** Storage key of the Service that it was made for; empty when that cannot be read. */
  readonly owner: string
}

/** A Service and the allocation keys that it holds by what it says. */
export interface Holder {
  readonly key: string
  readonly revision: number
  readonly createRevision: number
  readonly holds: ReadonlySet<string>
}

/** A Service holds something of which the store says otherwise. */
export interface Claim {
  readonly key: string
  /** The allocation that there is; 0: none. */
  readonly revision: number
  readonly holder: Holder
}

export interface Audit {
  /** Allocations that no Service holds. */
  readonly leaked: readonly Allocation[]
  /** Allocations that are missing, or not in the name of who holds them. */
  readonly missing: readonly Claim[]
  /** What a Service holds although it is another one's. */
  readonly duplicates: readonly Claim[]
  /** What a Service holds although nobody would be given it: the ranges are others by now. */
  readonly outside: readonly Claim[]
}

/**
 * Compares allocations with the Services of the same revision. Of several
 * Services that hold one address or port it is the one's that the allocation
 * names, else the oldest's.
 */
export function auditAllocations(
  allocations: readonly Allocation[],
  holders: readonly Holder[],
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
    const rightful = claimants.find((one) => one.key === allocation?.owner) ?? claimants[0]!
    if (rightful.key !== allocation?.owner) missing.push({ key, revision, holder: rightful })
    for (const holder of claimants) {
      if (holder !== rightful) duplicates.push({ key, revision, holder })
      if (!isInRange(key)) outside.push({ key, revision, holder })
    }
  }
  const leaked = allocations.filter(({ key }) => !byKey.has(key))
  return { leaked, missing, duplicates, outside }
}

function holdersByKey(holders: readonly Holder[]): ReadonlyMap<string, readonly Holder[]> {
  const byKey = new Map<string, Holder[]>()
  for (const holder of holders.toSorted((a, b) => a.createRevision - b.createRevision)) {
    for (const key of holder.holds) byKey.set(key, [...(byKey.get(key) ?? []), holder])
  }
  return byKey
}
