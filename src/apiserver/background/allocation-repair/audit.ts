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

/** The allocations and the Services that hold them, at one revision. */
export interface Holdings {
  readonly allocations: readonly Allocation[]
  readonly holders: readonly Holder[]
  /** Storage keys of Services that cannot be read: what they hold is unknown. */
  readonly unreadable: ReadonlySet<string>
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
  /** What a Service holds outside of the present ranges. */
  readonly outside: readonly Claim[]
}

/**
 * Compares allocations with the Services of the same revision. Of several
 * Services that hold one address or port it is the one's that the allocation
 * names, else the oldest's. What a Service holds that cannot be read stays its
 * own; so does, while there is one, what is in the name of no Service.
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
    const isWithheld = allocation !== undefined && unreadable.has(allocation.owner)
    const named = claimants.find((one) => one.key === allocation?.owner)
    const rightful = isWithheld ? undefined : (named ?? claimants[0]!)
    if (rightful !== undefined && rightful !== named)
      missing.push({ key, revision, holder: rightful })
    for (const holder of claimants) {
      if (holder !== rightful) duplicates.push({ key, revision, holder })
      if (!isInRange(key)) outside.push({ key, revision, holder })
    }
  }
  const isKept = (owner: string): boolean =>
    unreadable.has(owner) || (owner === '' && unreadable.size > 0)
  const leaked = allocations.filter(({ key, owner }) => !byKey.has(key) && !isKept(owner))
  return { leaked, missing, duplicates, outside }
}

function holdersByKey(holders: readonly Holder[]): ReadonlyMap<string, readonly Holder[]> {
  const byKey = new Map<string, Holder[]>()
  for (const holder of holders.toSorted((a, b) => a.createRevision - b.createRevision)) {
    for (const key of holder.holds) byKey.set(key, [...(byKey.get(key) ?? []), holder])
  }
  return byKey
}
