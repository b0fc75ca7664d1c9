import { contentHash } from '../../lib/hash.ts'
import type { Problem } from '../../resources/problem.ts'
import type { ServiceKey } from '../../resources/types.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { WatchProblem } from '../../watch/feed.ts'
import type { NodeEvents } from './node-events.ts'
import { legacyAddress, objectRejected, serviceReference } from './warnings.ts'

/** The maximum number of problems that one log record names. */
const MAX_SHOWN = 5
/** The maximum number of objects whose last report is remembered. */
const MAX_REMEMBERED = 20_000

/**
 * Reports objects of the API that are invalid or have invalid parts. Every relist finds the same problems again, so an
 * object is reported again only when its problems have changed.
 */
export class ObjectProblems {
  readonly #log: Logger
  readonly #events: Pick<NodeEvents, 'warn'>
  /** A hash of each object's last report; the least recently reported first. */
  readonly #reported = new Map<string, number>()

  constructor(log: Logger, events: Pick<NodeEvents, 'warn'>) {
    this.#log = log
    this.#events = events
  }

  /**
   * Logs the problems of one object, unless they were its last report. If the object is a Service, also sends an Event
   * about the most important problem.
   */
  report({ resource, key, kind, problems }: WatchProblem): void {
    const lines = problems.map(describe)
    if (!this.#isNew(`${resource} ${key}`, contentHash(`${kind} ${lines.join('\n')}`))) return
    const shown = lines.slice(0, MAX_SHOWN)
    this.#log.warn(
      { resource, object: key, kind, problems: shown },
      'an object of the API is invalid; its invalid parts are not programmed',
    )
    // A legacy address is served, so any other problem matters more.
    const worst = problems.find((problem) => !isLegacyAddress(problem)) ?? problems[0]
    if (resource !== 'services' || key === '' || worst === undefined) return
    const warning = isLegacyAddress(worst) ? legacyAddress : objectRejected
    this.#events.warn(warning(serviceReference(key as ServiceKey), describe(worst)))
  }

  /** Whether `content`, a hash, differs from the last report of the object. Remembers it. */
  #isNew(object: string, content: number): boolean {
    const known = this.#reported.get(object) === content
    this.#reported.delete(object)
    this.#reported.set(object, content)
    const [oldest] = this.#reported.keys()
    if (this.#reported.size > MAX_REMEMBERED && oldest !== undefined) this.#reported.delete(oldest)
    return !known
  }
}

function describe({ field, value, message }: Problem): string {
  return `${field} ${value}: ${message}`
}

function isLegacyAddress({ fault }: Problem): boolean {
  return fault !== undefined && 'legacyAddress' in fault
}
