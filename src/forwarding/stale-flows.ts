import { activeBackends } from './active-backends.ts'
import { type ClaimKey, claimKey } from './claim-key.ts'
import type { ForwardingEntry, Frontend, StaleFlows } from './entry.ts'

/** One entry of the table before and after a change. */
export interface Transition {
  readonly before: ForwardingEntry | undefined
  readonly after: ForwardingEntry | undefined
}

/** The entries that hold a frontend before and after the change. */
interface Holders {
  readonly frontend: Frontend
  before: ForwardingEntry | undefined
  after: ForwardingEntry | undefined
}

/**
 * The UDP and SCTP flows that a change makes stale. While packets of such a flow arrive, the kernel keeps its
 * conntrack entry: it translates to the old backend, or not at all if the flow began before there was one.
 * TCP connections end or are reset without that, and stay.
 *
 * The caller passes all transitions of one change together, so that a frontend that moved between two entries
 * keeps the flows to the backends of its new holder.
 */
export function staleFlowsOf(transitions: readonly Transition[]): readonly StaleFlows[] {
  const changed = transitions.filter(({ before, after }) => {
    return before !== after && (before ?? after)?.protocol !== 'TCP'
  })
  if (changed.length === 0) return []
  const stale: StaleFlows[] = []
  for (const { frontend, before, after } of holdersOf(changed).values()) {
    const entry = after ?? before
    if (entry === undefined || !isStale(before, after)) continue
    const { family, protocol } = entry
    const keep = new Set(activeBackends(after).keys())
    stale.push({ family, protocol, ip: frontend.ip, port: frontend.port, keep })
  }
  return stale
}

function holdersOf(transitions: readonly Transition[]): ReadonlyMap<ClaimKey, Holders> {
  const holders = new Map<ClaimKey, Holders>()
  const at = (entry: ForwardingEntry, frontend: Frontend): Holders => {
    const key = claimKey(entry, frontend)
    const found = holders.get(key) ?? { frontend, before: undefined, after: undefined }
    holders.set(key, found)
    return found
  }
  for (const { before, after } of transitions) {
    for (const frontend of before?.frontends ?? []) at(before!, frontend).before = before
    for (const frontend of after?.frontends ?? []) at(after!, frontend).after = after
  }
  return holders
}

function isStale(before: ForwardingEntry | undefined, after: ForwardingEntry | undefined): boolean {
  if (after === undefined) return true
  const old = activeBackends(before)
  const current = activeBackends(after)
  if (old.size === 0) return current.size > 0
  return old.keys().some((key) => !current.has(key))
}
