import type { ServiceKey } from '../../forwarding/entry.ts'
import type { ChangeHistory } from '../../inspection/change-history.ts'
import type { Clock } from '../../lib/clock.ts'
import { messageOf, NodeProxyError } from '../../lib/error.ts'
import type { KernelError, ObjectDescription, ObjectKey } from '../../modes/mode.ts'
import type { AppliedRun, SyncObserver } from '../../sync/sync-loop.ts'
import type { FamilyName, Health } from '../../telemetry/health/health.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import type { ChangeTimes } from './change-times.ts'
import { ruleCounts } from './gauges.ts'

/** Where the runs of one sync loop are reported. */
export interface SyncObserverParts {
  readonly metrics: Metrics
  readonly health: Health
  readonly log: Logger
  readonly clock: Clock
  readonly families: readonly FamilyName[]
  readonly changeTimes: ChangeTimes
  /** Called with the Services that a run has compiled. */
  readonly onCompiled: (services: readonly ServiceKey[]) => void
  /** After a run that wrote at least one object. */
  readonly onWritten: (failed: AppliedRun['failed']) => void
  /** After every run. */
  readonly onApplied: () => void
  /** After a run in which the kernel refused an object, or could not be read or written. */
  readonly onFailure: () => void
  readonly describe: (key: ObjectKey) => ObjectDescription
}

/** The most objects that one log record names, and the most refusals that one run logs. */
const MAX_LOGGED = 5

/** Turns the runs of one mode's sync loop into metrics, health and log records. */
export function observeSync(parts: SyncObserverParts): SyncObserver {
  const { metrics, health, log, clock, families, changeTimes } = parts
  let isFirst = true
  return {
    queued(at) {
      health.queued()
      changeTimes.queued()
      for (const ip_family of families) metrics.lastQueued.set({ ip_family }, at / 1_000)
    },
    begun() {
      health.begun()
      changeTimes.begun()
    },
    compiled: parts.onCompiled,
    applied(run) {
      reportRefusals(parts, run, isFirst)
      parts.onApplied()
      if (run.failed.size > 0) parts.onFailure()
      const { set, unset } = run.change
      const size = set.length + unset.length
      if (run.failed.size > 0 && run.failed.size >= size) return health.failed(firstRefusal(run))
      health.succeeded()
      countRun(parts, run, isFirst)
      isFirst = false
      parts.onWritten(run.failed)
      log.debug({ set: set.length, unset: unset.length, ms: run.durationMs }, 'applied')
      log.trace(run.change, 'the objects of this run')
    },
    drifted(drift, by) {
      for (const { key, kind } of drift)
        metrics.driftRepairs.inc({ object: parts.describe(key).kind, cause: kind })
      const objects = drift.slice(0, MAX_LOGGED).map(({ key, kind }) => `${kind} ${key}`)
      log.warn(
        { by, count: drift.length, objects },
        'another process changed the rules of node-proxy; repairing them',
      )
    },
    normalised(keys) {
      log.info(
        { count: keys.length, first: keys[0] },
        'the kernel prints these rules in a normalised form; treating that form as equal',
      )
    },
    failed(error) {
      health.failed(failureText(error))
      const message = 'reading or writing the kernel failed; trying again'
      log.error({ err: error, at: clock.now() }, message)
      parts.onFailure()
    },
    flowsFailed(error) {
      const message = 'deleting the conntrack entries of removed backends failed; trying again'
      log.warn({ err: error }, message)
    },
    flowsCut(count) {
      if (count > 0) log.debug({ count }, 'deleted the conntrack entries of removed backends')
    },
  }
}

/** Counts every refused object, and logs the first five. */
function reportRefusals(
  { metrics, log, describe }: SyncObserverParts,
  { failed }: AppliedRun,
  isFirst: boolean,
): void {
  for (const { code } of failed.values()) metrics.applyFailures.inc({ code })
  for (const ip_family of familiesOfRules(failed, describe)) {
    metrics.iptablesRestoreFailures.inc({ ip_family })
    if (!isFirst) metrics.iptablesPartialRestoreFailures.inc({ ip_family })
  }
  for (const [object, why] of [...failed].slice(0, MAX_LOGGED)) {
    const facts = { object, code: why.code, reason: why.message, failed: failed.size }
    log.error(facts, 'the kernel refused an object; trying again')
  }
}

function familiesOfRules(
  failed: ReadonlyMap<ObjectKey, KernelError>,
  describe: SyncObserverParts['describe'],
): ReadonlySet<FamilyName> {
  const objects = [...failed.keys()].map(describe)
  return new Set(
    objects.flatMap(({ family, rules }) =>
      rules && family ? [`IPv${family}` satisfies FamilyName] : [],
    ),
  )
}

function countRun(
  parts: SyncObserverParts,
  { at, durationMs, change }: AppliedRun,
  isFirst: boolean,
): void {
  const { metrics, families, changeTimes } = parts
  const changedAt = changeTimes.written()
  const durationOfKind = isFirst ? metrics.fullSyncDuration : metrics.partialSyncDuration
  for (const ip_family of families) {
    metrics.syncDuration.observe({ ip_family }, durationMs / 1_000)
    durationOfKind.observe({ ip_family }, durationMs / 1_000)
    metrics.lastSync.set({ ip_family }, at / 1_000)
    for (const then of changedAt) {
      metrics.networkProgrammingDuration.observe({ ip_family }, (at - then) / 1_000)
    }
  }
  countWritten(parts, change.set)
}

/** Rules written by this run, by table and family. */
function countWritten({ metrics, describe }: SyncObserverParts, keys: readonly ObjectKey[]): void {
  const objects = keys.map(describe)
  metrics.iptablesRulesLast.reset()
  for (const { table, family, count } of ruleCounts(objects)) {
    metrics.iptablesRulesLast.set({ table, ip_family: `IPv${family}` }, count)
  }
}

function firstRefusal({ failed }: AppliedRun): string {
  const [refusal] = failed.values()
  return refusal === undefined
    ? 'the kernel refused every object'
    : `${refusal.code}: ${refusal.message}`
}

function failureText(error: unknown): string {
  if (error instanceof NodeProxyError) return `${error.code}: ${error.message}`
  return messageOf(error)
}

/** An observer that also writes the history of changes. */
export function recordChanges(
  observer: SyncObserver,
  history: ChangeHistory,
  clock: Pick<Clock, 'now'>,
): SyncObserver {
  return {
    ...observer,
    compiled(services) {
      history.compiled(services, clock.now())
      observer.compiled(services)
    },
    applied(run) {
      history.applied(run)
      observer.applied(run)
    },
    drifted(drift, by) {
      history.driftRepaired += drift.length
      observer.drifted(drift, by)
    },
  }
}
