import type { Clock } from '../../../lib/clock.ts'
import { regularly } from '../../../lib/regularly.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { Metrics } from '../../../telemetry/metrics/metrics.ts'

/** What the summary is made of. */
export interface SummaryParts {
  readonly clock: Clock
  readonly log: Pick<Logger, 'info'>
  readonly metrics: Pick<
    Metrics,
    'serviceChanges' | 'endpointChanges' | 'applyFailures' | 'driftRepairs' | 'apiFailures'
  >
  /** Numbers of objects that are served now, and the mode: fields of the record. */
  readonly now: () => Readonly<Record<string, unknown>>
}

const HOUR_MS = 3_600_000

type Counts = Readonly<Record<keyof SummaryParts['metrics'], number>>

/**
 * Logs once an hour what was done in it, although nothing needs attention: a log without a line says neither that the node
 * follows the cluster nor that it does not. The returned function ends it.
 */
export function summariseHourly({ clock, log, metrics, now }: SummaryParts): () => void {
  let before: Counts = {
    serviceChanges: 0,
    endpointChanges: 0,
    applyFailures: 0,
    driftRepairs: 0,
    apiFailures: 0,
  }
  const round = async (): Promise<void> => {
    const counts = await read(metrics)
    const of = (name: keyof Counts): number => counts[name] - before[name]
    const changes = `${of('endpointChanges')} changes of endpoints and ${of('serviceChanges')} of Services`
    const failures = `${of('applyFailures')} refusals of the kernel, ${of('driftRepairs')} repairs, ${of('apiFailures')} failed requests to the API server`
    before = counts
    log.info(now(), `in the last hour: ${changes}; ${failures}`)
  }
  return regularly({ clock, everyMs: HOUR_MS, round, onError: () => {} })
}

async function read(metrics: SummaryParts['metrics']): Promise<Counts> {
  const total = async (name: keyof Counts): Promise<number> => {
    const { values } = await metrics[name].get()
    return values.reduce((sum, { value }) => sum + value, 0)
  }
  return {
    serviceChanges: await total('serviceChanges'),
    endpointChanges: await total('endpointChanges'),
    applyFailures: await total('applyFailures'),
    driftRepairs: await total('driftRepairs'),
    apiFailures: await total('apiFailures'),
  }
}
