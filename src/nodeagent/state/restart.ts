import type { RestartPolicy } from '../plan/pod-plan.ts'
import type { ContainerState } from './pod-state.ts'

const FIRST_DELAY_MS = 10_000
const MAX_DELAY_MS = 300_000
/** A run of this length does not count as a crash: the container is restarted at once. */
const LONG_RUN_MS = 600_000

/** Whether a container that is not running is to be started, now or later. */
export function isToRun(policy: RestartPolicy, { end }: ContainerState): boolean {
  if (end === undefined || policy === 'Always') return true
  return policy === 'OnFailure' && end.exitCode !== 0
}

/**
 * The container after its process ended. The first restart comes at once, later
 * ones after 10 s, 20 s, … 5 min, until one run lasted ten minutes.
 */
export function afterEnd(
  state: ContainerState,
  { exitCode, signal }: { readonly exitCode: number; readonly signal: number },
  now: number,
): ContainerState {
  const { startedAt } = state
  const code = signal === 0 ? exitCode : 128 + signal
  const reason = code === 0 ? 'Completed' : 'Error'
  const end = { exitCode: code, signal, reason, message: '', startedAt, finishedAt: now }
  const delayMs = now - startedAt >= LONG_RUN_MS ? 0 : state.delayMs
  return {
    ...state,
    phase: 'idle',
    pid: 0,
    end,
    endBefore: state.end,
    stop: undefined,
    probes: {},
    retryAt: now + delayMs,
    delayMs: longer(delayMs),
  }
}

/** The container after its process could not be started. */
export function afterRefusal(state: ContainerState, refusal: string, now: number): ContainerState {
  const delayMs = longer(state.delayMs)
  return { ...state, phase: 'idle', refusal, delayMs, retryAt: now + delayMs }
}

function longer(delayMs: number): number {
  return delayMs === 0 ? FIRST_DELAY_MS : Math.min(MAX_DELAY_MS, 2 * delayMs)
}
