import type {
  Backend,
  DrainingBackend,
  ForwardingEntry,
  Frontend,
  RejectedFrontend,
} from './entry.ts'

/** Whether two entries require the same kernel state; rejected frontends are not compared. */
export function isSameForwarding(a: ForwardingEntry, b: ForwardingEntry): boolean {
  if (a === b) return true
  return (
    a.id === b.id &&
    a.scheduler === b.scheduler &&
    a.proxyProtocol === b.proxyProtocol &&
    a.healthCheckPort === b.healthCheckPort &&
    a.affinity?.seconds === b.affinity?.seconds &&
    a.affinity?.isShared === b.affinity?.isShared &&
    a.whenEmpty.cluster === b.whenEmpty.cluster &&
    a.whenEmpty.local === b.whenEmpty.local &&
    areSame(a.frontends, b.frontends, isSameFrontend) &&
    areSame(a.pools.cluster, b.pools.cluster, isSameBackend) &&
    areSame(a.pools.local, b.pools.local, isSameBackend) &&
    areSame(a.draining, b.draining, isSameDraining)
  )
}

/** Whether two compiled entries are the same in every respect. */
export function isSameEntry(a: ForwardingEntry, b: ForwardingEntry): boolean {
  return isSameForwarding(a, b) && areSame(a.refused ?? [], b.refused ?? [], isSameRejection)
}

/** Whether two lists have the same length and equal elements at each index. */
export function areSame<T>(
  a: readonly T[],
  b: readonly T[],
  same: (one: T, other: T) => boolean,
): boolean {
  if (a === b) return true
  if (a.length !== b.length) return false
  for (let index = 0; index < a.length; index++) {
    if (!same(a[index]!, b[index]!)) return false
  }
  return true
}

function isSameFrontend(a: Frontend, b: Frontend): boolean {
  return (
    a.kind === b.kind &&
    a.ip === b.ip &&
    a.port === b.port &&
    a.pool === b.pool &&
    a.shortCircuit === b.shortCircuit &&
    a.masquerade === b.masquerade &&
    (a.sourceRanges === undefined) === (b.sourceRanges === undefined) &&
    areSame(a.sourceRanges ?? [], b.sourceRanges ?? [], Object.is)
  )
}

function isSameBackend(a: Backend, b: Backend): boolean {
  return a.ip === b.ip && a.port === b.port && a.weight === b.weight && a.local === b.local
}

function isSameDraining(a: DrainingBackend, b: DrainingBackend): boolean {
  return isSameBackend(a, b) && a.until === b.until
}

function isSameRejection(a: RejectedFrontend, b: RejectedFrontend): boolean {
  return (
    a.kind === b.kind &&
    a.ip === b.ip &&
    a.port === b.port &&
    a.code === b.code &&
    a.message === b.message
  )
}
