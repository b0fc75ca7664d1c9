import { shortDuration } from '../../../lib/duration.ts'
import {
  arrayAt,
  type Json,
  type JsonObject,
  objectAt,
  stringAt,
  valueAt,
} from '../../../lib/json.ts'
import { READY } from '../../../resources/label-names.ts'
import { readCondition } from '../../../resources/status-condition.ts'

/** The columns that kubectl prints for a Pod. */
export interface PodSummary {
  /** Ready containers of all: `1/2`. */
  readonly ready: string
  readonly status: string
  /** `3 (35m ago)` */
  readonly restarts: string
}

/**
 * A Pod in the words of kubectl's printers. The status is that of the first init container that is not
 * complete, else that of the first container that waits or has ended, else the phase.
 */
export function podSummary(pod: JsonObject, now: number): PodSummary {
  const beginning = beginningOf(pod)
  const isBegun = isInitialized(pod, beginning)
  const mains = isBegun ? arrayAt(pod, 'status', 'containerStatuses') : []
  const running = mains.filter(isRunning)
  const counted = isBegun ? [...beginning.sidecars, ...mains] : beginning.seen
  const ready = running.length + beginning.sidecars.filter(isReady).length
  const words = mains.map(wordsOf).find((one) => one !== '') ?? beginning.words
  const status = words === 'Completed' && running.length > 0 ? partly(pod) : words
  return {
    ready: `${ready}/${containersOf(pod)}`,
    status: ending(pod) ?? (status || phaseOf(pod)),
    restarts: restartsOf(counted, now),
  }
}

/** The progress of the init containers. */
interface Beginning {
  /** Statuses up to the first container that delays the Pod. */
  readonly seen: readonly Json[]
  /** Those of them that are sidecars. */
  readonly sidecars: readonly Json[]
  /** The status text of that container; empty: none delays the Pod. */
  readonly words: string
}

function beginningOf(pod: JsonObject): Beginning {
  const specs = arrayAt(pod, 'spec', 'initContainers')
  const names = new Set(specs.filter(isSidecar).map((one) => stringAt(one, 'name')))
  const isBeside = (one: Json): boolean => names.has(stringAt(one, 'name'))
  const statuses = arrayAt(pod, 'status', 'initContainerStatuses')
  const at = statuses.findIndex((one) => !isDone(one) && !(isBeside(one) && isStarted(one)))
  const seen = at < 0 ? statuses : statuses.slice(0, at + 1)
  const said = at < 0 ? '' : wordsOf(statuses[at]!).replace(/^PodInitializing$/, '')
  const words = at < 0 ? '' : `Init:${said || `${at}/${specs.length}`}`
  return { seen, sidecars: seen.filter(isBeside), words }
}

function isInitialized(pod: JsonObject, { words }: Beginning): boolean {
  return words === '' || readCondition(objectAt(pod, 'status'), 'Initialized').status === 'True'
}

function isSidecar(container: Json): boolean {
  return stringAt(container, 'restartPolicy') === 'Always'
}

function isDone(status: Json): boolean {
  return valueAt(status, 'state', 'terminated', 'exitCode') === 0
}

function isStarted(status: Json): boolean {
  return valueAt(status, 'started') === true
}

function isReady(status: Json): boolean {
  return valueAt(status, 'ready') === true && isStarted(status) && !isDone(status)
}

function isRunning(status: Json): boolean {
  const runs = valueAt(status, 'state', 'running') !== undefined
  return runs && valueAt(status, 'ready') === true && wordsOf(status) === ''
}

/** Why a container waits or has ended; empty for one that runs. */
function wordsOf(status: Json): string {
  const waiting = stringAt(status, 'state', 'waiting', 'reason')
  const ended = valueAt(status, 'state', 'terminated')
  if (waiting !== '' || ended === undefined) return waiting
  const signal = Number(valueAt(ended, 'signal') ?? 0)
  const code = Number(valueAt(ended, 'exitCode') ?? 0)
  return stringAt(ended, 'reason') || (signal === 0 ? `ExitCode:${code}` : `Signal:${signal}`)
}

/** The status of a Pod in which one container has completed and another one runs. */
function partly(pod: JsonObject): string {
  const { status } = readCondition(objectAt(pod, 'status'), READY)
  return status === 'True' ? 'Running' : 'NotReady'
}

function phaseOf(pod: JsonObject): string {
  const { reason } = readCondition(objectAt(pod, 'status'), 'PodScheduled')
  if (reason === 'SchedulingGated') return reason
  return stringAt(pod, 'status', 'reason') || stringAt(pod, 'status', 'phase') || 'Unknown'
}

function ending(pod: JsonObject): string | undefined {
  if (stringAt(pod, 'metadata', 'deletionTimestamp') === '') return undefined
  if (stringAt(pod, 'status', 'reason') === 'NodeLost') return 'Unknown'
  const isOver = ['Succeeded', 'Failed'].includes(stringAt(pod, 'status', 'phase'))
  return isOver ? undefined : 'Terminating'
}

function containersOf(pod: JsonObject): number {
  const sidecars = arrayAt(pod, 'spec', 'initContainers').filter(isSidecar)
  return arrayAt(pod, 'spec', 'containers').length + sidecars.length
}

function restartsOf(statuses: readonly Json[], now: number): string {
  const counts = statuses.map((one) => Number(valueAt(one, 'restartCount') ?? 0))
  const sum = counts.reduce((all, count) => all + count, 0)
  const times = statuses
    .map((one) => Date.parse(stringAt(one, 'lastState', 'terminated', 'finishedAt')))
    .filter((time) => !Number.isNaN(time))
  if (sum === 0 || times.length === 0) return String(sum)
  return `${sum} (${shortDuration((now - Math.max(...times)) / 1000)} ago)`
}
