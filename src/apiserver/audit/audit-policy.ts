/**
 * The content of an event. None: no event; Metadata: who did what; Request: also the body of the request;
 * RequestResponse: also the body of the answer.
 */
export const LEVELS = ['None', 'Metadata', 'Request', 'RequestResponse'] as const

export type Level = (typeof LEVELS)[number]

/** The stages at which events are made. Only answers that are streams, such as watches and logs, have `ResponseStarted`. */
export const STAGES = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const

export type Stage = (typeof STAGES)[number]

/** Which requests are audited and how; the first rule that matches a request decides. */
export interface AuditPolicy {
  readonly rules: readonly AuditRule[]
}

/** A rule. A condition that is undefined matches every request. */
export interface AuditRule {
  readonly level: Level
  readonly users: ReadonlySet<string> | undefined
  /** The user must be in at least one of these groups. */
  readonly userGroups: ReadonlySet<string> | undefined
  readonly verbs: ReadonlySet<string> | undefined
  /** Empty text: cluster-scoped resources, and requests for all namespaces. */
  readonly namespaces: ReadonlySet<string> | undefined
  readonly resources: readonly ResourceSelector[] | undefined
  /** Paths; one that ends with `*` matches all paths with that prefix. */
  readonly nonResourceURLs: readonly string[] | undefined
  /** The stages that the policy or the rule omits. */
  readonly omitStages: ReadonlySet<Stage>
  readonly omitManagedFields: boolean
}

/** Resources of one group. */
export interface ResourceSelector {
  /** Canonical, as `canonicalGroup` returns it; empty: the core group. */
  readonly group: string
  /** Such as `pods`, `pods/log`, `pods/*`, `*`, or `*` with a subresource; empty: all resources of the group. */
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
