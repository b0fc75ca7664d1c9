import type { PodPlan } from '../plan/pod-plan.ts'
import type { PodAction, PodEvent } from '../state/pod-event.ts'

/** Type, reason and message of an Event of a Pod. */
export interface EventText {
  readonly type: 'Normal' | 'Warning'
  /** One word in CamelCase. */
  readonly reason: string
  readonly message: string
}

/** The Event of something that happened to the Pod; undefined: none. */
export function textOfEvent(event: PodEvent): EventText | undefined {
  switch (event.is) {
    case 'unconnected':
      return warning('FailedCreatePodSandBox', event.message)
    case 'started':
      return { type: 'Normal', reason: 'Started', message: `Started container ${event.container}` }
    case 'refused':
      return warning('Failed', `container ${event.container}: ${event.message}`)
    case 'probed':
      return event.outcome === 'pass'
        ? undefined
        : warning('Unhealthy', `${named(event.kind)} probe of ${event.container}: ${event.message}`)
    case 'ended':
      return event.exitCode === 0 && event.signal === 0
        ? undefined
        : warning('BackOff', `container ${event.container} ended with ${howOf(event)}`)
    case 'unmounted':
      return warning(FAILED_MOUNT, event.message)
    case 'noticed':
      return warning(event.reason, event.message)
    case 'connected':
    case 'disconnected':
    case 'mounted':
    case 'hooked':
    case 'stopped':
      return undefined
  }
}

/** The Event of an action; undefined: none. */
export function textOfAction(action: PodAction): EventText | undefined {
  if (action.do !== 'signal') return undefined
  const how = action.signal === 'SIGTERM' ? 'Stopping' : 'Killing'
  return { type: 'Normal', reason: 'Killing', message: `${how} container ${action.container}` }
}

/** An Event for each fault of the Pod's spec. */
export function faultTexts({ containers, volumeFault }: PodPlan): readonly EventText[] {
  if (volumeFault !== undefined) return [warning(FAILED_MOUNT, volumeFault)]
  return containers.flatMap(({ fault }) => (fault === undefined ? [] : [warning('Failed', fault)]))
}

/** The reason of Events about volumes, as in Kubernetes. */
export const FAILED_MOUNT = 'FailedMount'

function warning(reason: string, message: string): EventText {
  return { type: 'Warning', reason, message }
}

function named(kind: string): string {
  return `${kind.slice(0, 1).toUpperCase()}${kind.slice(1)}`
}

function howOf({
  exitCode,
  signal,
}: {
  readonly exitCode: number
  readonly signal: number
}): string {
  return signal === 0 ? `exit code ${exitCode}` : `signal ${signal}`
}
