import { contentHash } from '../../../lib/hash.ts'
import type { Problem } from '../../../resources/problem.ts'
import type { ServiceKey } from '../../../resources/types.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { WatchProblem } from '../../../watch/problem.ts'
import type { NodeEvents } from './node-events.ts'
import { legacyAddress, objectRejected, serviceReference } from './warnings.ts'

const MOST_SHOWN = 5
const MOST_REMEMBERED = 20_000

/**
 * Objects of the API that cannot be used, or not all of them. Every relist finds
 * the same problems again; they are told once, until they are others.
 */
export class ObjectProblems {
  readonly #log: Logger
  readonly #events: Pick<NodeEvents, 'warn'>
  /** What was said of an object last, the least recently said first. */
  readonly #told = new Map<string, number>()

  constructor(log: Logger, events: Pick<NodeEvents, 'warn'>) {
    this.#log = log
    this.#events = events
  }

  tell({ resource, key, kind, problems }: WatchProblem): void {
    const lines = problems.map(describe)
    if (!this.#isNew(`${resource} ${key}`, contentHash(`${kind} ${lines.join('\n')}`))) return
    const shown = lines.slice(0, MOST_SHOWN)
    this.#log.warn({ resource, object: key, kind, problems: shown }, 'an object is wrong')
    // An address that is read all the same is worth an Event where nothing else is wrong.
    const worst = problems.find((problem) => !isLegacyAddress(problem)) ?? problems[0]
    if (resource !== 'services' || key === '' || worst === undefined) return
    const warning = isLegacyAddress(worst) ? legacyAddress : objectRejected
    this.#events.warn(warning(serviceReference(key as ServiceKey), describe(worst)))
  }

  #isNew(object: string, content: number): boolean {
    const known = this.#told.get(object) === content
    this.#told.delete(object)
    this.#told.set(object, content)
    const [oldest] = this.#told.keys()
    if (this.#told.size > MOST_REMEMBERED && oldest !== undefined) this.#told.delete(oldest)
    return !known
  }
}

function describe({ field, value, message }: Problem): string {
  return `${field} ${value}: ${message}`
}

function isLegacyAddress({ fault }: Problem): boolean {
  return fault !== undefined && 'legacyAddress' in fault
}
