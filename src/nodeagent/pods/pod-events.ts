import type { PodPlan } from '../plan/pod-plan.ts'
import type { PodAction } from '../state/pod-action.ts'
import type { PodEvent } from '../state/pod-event.ts'

/** What an Event tells people of a Pod. */
export interface PodNews {
  readonly type: 'Normal' | 'Warning'
  /** One word in CamelCase. */
  readonly reason: string
  readonly message: string
}

/** What is worth telling of something that happened. */
export function eventOfPodEvent(event: PodEvent): PodNews | undefined {
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
    case 'connected':
    case 'disconnected':
    case 'hooked':
    case 'stopped':
      return undefined
  }
}

/** What is worth telling of something that is being done. */
export function noteOfAction(action: PodAction): PodNews | undefined {
  if (action.do !== 'signal') return undefined
  const how = action.signal === 'SIGTERM' ? 'Stopping' : 'Killing'
  return { type: 'Normal', reason: 'Killing', message: `${how} container ${action.container}` }
}

/** What is wrong with the Pod as it is written. */
export function notesOfPlan({ containers }: PodPlan): readonly PodNews[] {
  return containers.flatMap(({ fault }) => (fault === undefined ? [] : [warning('Failed', fault)]))
}

function warning(reason: string, message: string): PodNews {
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
