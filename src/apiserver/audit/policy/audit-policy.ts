/** How much an event says: nothing, who did what, the request's body too, the answer's body too. */
export const LEVELS = ['None', 'Metadata', 'Request', 'RequestResponse'] as const

export type Level = (typeof LEVELS)[number]

/** When an event is made. `ResponseStarted` is of watches alone. */
export const STAGES = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const

export type Stage = (typeof STAGES)[number]

/** Which requests are audited and how; the first rule that matches a request decides. */
export interface AuditPolicy {
  readonly rules: readonly AuditRule[]
}

/** A condition that is undefined holds for every request. */
export interface AuditRule {
  readonly level: Level
  readonly users: ReadonlySet<string> | undefined
  /** One of them suffices. */
  readonly userGroups: ReadonlySet<string> | undefined
  readonly verbs: ReadonlySet<string> | undefined
  /** Empty text: cluster-scoped resources, and requests for all namespaces. */
  readonly namespaces: ReadonlySet<string> | undefined
  readonly resources: readonly ResourceSelector[] | undefined
  /** Paths; one that ends in `*` stands for all that begin so. */
  readonly nonResourceURLs: readonly string[] | undefined
  /** Those of the policy and of the rule. */
  readonly omitStages: ReadonlySet<Stage>
  readonly omitManagedFields: boolean
}

/** Resources of one group. */
export interface ResourceSelector {
  /** Canonical, as `canonicalGroup` returns it; empty: the core group. */
  readonly group: string
  /** Such as `pods`, `pods/log`, `pods/*` or `*`, or a subresource of all; empty: all of the group. */
  readonly resources: readonly string[]
  /** Empty: every object. */
  readonly resourceNames: ReadonlySet<string>
}

/** The smaller of two levels. */
export function lowerLevel(a: Level, b: Level): Level {
  return LEVELS.indexOf(a) < LEVELS.indexOf(b) ? a : b
}

export function includesRequest(level: Level): boolean {
  return level === 'Request' || level === 'RequestResponse'
}
