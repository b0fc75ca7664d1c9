import type { ServiceKey } from '../../forwarding/entry.ts'
import type { Clock } from '../../lib/clock.ts'
import type { ObjectKey } from '../../modes/mode.ts'
import type { SyncObserver } from '../../sync/observer.ts'
import type { FamilyName } from '../../telemetry/health/family-progress.ts'
import type { Health } from '../../telemetry/health/health.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'

export interface SyncObserverParts {
  readonly metrics: Metrics
  readonly health: Health
  readonly log: Logger
  readonly clock: Clock
  readonly families: readonly FamilyName[]
  /** Endpoint changes on their way: when they happened. Emptied here. */
  readonly triggers: number[]
  onCompiled(services: readonly ServiceKey[]): void
  ruleCountOf(key: ObjectKey): number
}

const FIRST_KEYS = 5

/** What the loop does, as metrics, health and log records. */
export function observeSync(parts: SyncObserverParts): SyncObserver {
  const { metrics, health, log, clock, families, triggers } = parts
  const each = (act: (labels: { ip_family: FamilyName }) => void) => {
    for (const ip_family of families) act({ ip_family })
  }
  return {
    queued(at) {
      health.queued()
      each((labels) => metrics.lastQueued.set(labels, at / 1_000))
    },
    begun: () => health.begun(),
    compiled: parts.onCompiled,
    applied({ at, durationMs, failed, change }) {
      for (const { code } of failed.values()) metrics.applyFailures.inc({ code })
      for (const [object, why] of [...failed].slice(0, FIRST_KEYS)) {
        log.error(
          { object, code: why.code, reason: why.message, failed: failed.size },
          'the kernel refused',
        )
      }
      const size = change.set.length + change.unset.length
      if (failed.size > 0 && failed.size >= size) return health.failed()
      health.succeeded()
      const written = triggers.splice(0)
      each((labels) => {
        metrics.syncDuration.observe(labels, durationMs / 1_000)
        metrics.partialSyncDuration.observe(labels, durationMs / 1_000)
        metrics.lastSync.set(labels, at / 1_000)
        for (const triggeredAt of written) {
          metrics.networkProgrammingDuration.observe(labels, (at - triggeredAt) / 1_000)
        }
      })
      countWritten(parts, change.set)
      log.debug({ set: change.set.length, unset: change.unset.length, ms: durationMs }, 'applied')
    },
    drifted(drift, by) {
      for (const { key, kind } of drift)
        metrics.driftRepairs.inc({ object: objectKind(key), cause: kind })
      const objects = drift.slice(0, FIRST_KEYS).map(({ key, kind }) => `${kind} ${key}`)
      log.warn({ by, count: drift.length, objects }, 'somebody else changed our rules; repairing')
    },
    respelled(keys) {
      log.info(
        { count: keys.length, first: keys[0] },
        'the kernel prints these rules in its own way',
      )
    },
    failed(error) {
      health.failed()
      log.error(
        { err: error, at: clock.now() },
        'the kernel could not be read or written; trying again',
      )
    },
    flowsCut(count) {
      each((labels) => metrics.conntrackDeleted.inc(labels, 0))
      metrics.conntrackDeleted.inc({ ip_family: 'IPv4' }, count)
      if (count > 0) log.debug({ count }, 'deleted conntrack entries of backends that are gone')
    },
  }
}

/** Rules written by this run, by table and family. */
function countWritten(
  { metrics, ruleCountOf }: SyncObserverParts,
  keys: readonly ObjectKey[],
): void {
  const totals = new Map<string, number>()
  for (const key of keys) {
    const place = key.slice(0, key.indexOf('/', 2))
    if (/^[46]\//.test(place)) totals.set(place, (totals.get(place) ?? 0) + ruleCountOf(key))
  }
  metrics.iptablesRulesLast.reset()
  for (const [place, count] of totals) {
    const [family, table = ''] = place.split('/')
    metrics.iptablesRulesLast.set({ table, ip_family: `IPv${family}` }, count)
  }
}

/** `chain`, `jump` or `set`. */
export function objectKind(key: ObjectKey): 'chain' | 'jump' | 'set' {
  if (key.startsWith('set/')) return 'set'
  return key.includes('>') ? 'jump' : 'chain'
}
