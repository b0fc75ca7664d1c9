import type { IpAddress } from '../../lib/ip.ts'
import { type ContainerPlan, PROBE_KINDS, type ProbeKind } from '../plan/container-plan.ts'
import type { PodPlan, RestartPolicy } from '../plan/pod-plan.ts'

/** The state of a Pod on this node. Times are milliseconds since the epoch. */
export interface PodState {
  readonly startedAt: number
  readonly network: NetworkState
  readonly volumes: VolumesState
  /** In the order of the plan. */
  readonly containers: readonly ContainerState[]
  /** Undefined: the Pod is not being stopped. */
  readonly stop: PodStop | undefined
  /** How the Pod had ended before this node agent started; undefined: it had not. */
  readonly outcome: 'Succeeded' | 'Failed' | undefined
}

/** The network namespace of a Pod. */
export interface NetworkState {
  readonly phase: 'none' | 'making' | 'made' | 'removing'
  readonly ips: readonly IpAddress[]
  /** Why the last attempt to make it failed; empty: it did not. */
  readonly problem: string
  readonly retryAt: number
}

/** The volumes of a Pod, which are made before its containers start. */
export interface VolumesState {
  readonly phase: 'none' | 'making' | 'made'
  /** Why the last attempt to make them failed; empty: it did not. */
  readonly problem: string
  /** The delay after the next failure: milliseconds. */
  readonly delayMs: number
  readonly retryAt: number
}

interface PodStop {
  /** When running containers get SIGKILL. */
  readonly deadline: number
}

export interface ContainerState {
  readonly name: string
  readonly phase: 'idle' | 'starting' | 'running'
  /** How often it was started. Events of an earlier run are ignored. */
  readonly run: number
  readonly startedAt: number
  readonly pid: number
  /** How its last run ended; `endBefore`: how the run before that ended. */
  readonly end: ContainerEnd | undefined
  readonly endBefore: ContainerEnd | undefined
  /** Why the last attempt to start it failed; empty: it did not. */
  readonly refusal: string
  /** The start failed because an object or key that the environment refers to is missing. */
  readonly isUnconfigured: boolean
  /** The delay before its next start when this run ends: milliseconds. */
  readonly delayMs: number
  readonly retryAt: number
  readonly stop: ContainerStop | undefined
  readonly probes: Readonly<Partial<Record<ProbeKind, ProbeState>>>
}

/** The end of one run of a container. */
export interface ContainerEnd {
  readonly exitCode: number
  readonly signal: number
  readonly reason: string
  readonly message: string
  readonly startedAt: number
  readonly finishedAt: number
}

/** A container that is being stopped: its hook runs or has run, or it got SIGTERM or SIGKILL. */
export interface ContainerStop {
  readonly stage: 'hook' | 'hooked' | 'term' | 'kill'
  readonly deadline: number
}

export interface ProbeState {
  readonly nextAt: number
  /** A probe is running. */
  readonly isBusy: boolean
  /** Successes in a row, and failures in a row. */
  readonly passes: number
  readonly failures: number
  readonly verdict: 'unknown' | 'pass' | 'fail'
}

const NO_NETWORK: NetworkState = { phase: 'none', ips: [], problem: '', retryAt: 0 }

const FIRST_VOLUMES_DELAY_MS = 1_000

/** The state of a Pod that is new on this node. */
export function newPodState(plan: PodPlan, now: number): PodState {
  return {
    startedAt: now,
    network: NO_NETWORK,
    volumes: {
      phase: plan.volumes.length === 0 ? 'made' : 'none',
      problem: '',
      delayMs: FIRST_VOLUMES_DELAY_MS,
      retryAt: 0,
    },
    containers: plan.containers.map(newContainerState),
    stop: undefined,
    outcome: undefined,
  }
}

/** The state of a container that was never started. */
export function newContainerState({ name }: ContainerPlan): ContainerState {
  return {
    name,
    phase: 'idle',
    run: 0,
    startedAt: 0,
    pid: 0,
    end: undefined,
    endBefore: undefined,
    refusal: '',
    isUnconfigured: false,
    delayMs: 0,
    retryAt: 0,
    stop: undefined,
    probes: {},
  }
}

/** The probes of a run that begins now. */
export function newProbes({ probes }: ContainerPlan, now: number): ContainerState['probes'] {
  const states: Partial<Record<ProbeKind, ProbeState>> = {}
  for (const kind of PROBE_KINDS) {
    const plan = probes[kind]
    if (plan === undefined) continue
    const nextAt = now + plan.initialDelayMs
    states[kind] = { nextAt, isBusy: false, passes: 0, failures: 0, verdict: 'unknown' }
  }
  return states
}

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

/** `status.phase`. */
export type Phase = 'Pending' | 'Running' | 'Succeeded' | 'Failed'

/** `status.phase`, by the rules of Kubernetes (kubelet, getPhase). */
export function phaseOf(plan: PodPlan, state: PodState): Phase {
  const outcome = outcomeOf(plan, state)
  if (outcome !== undefined) return outcome
  return state.containers.some(hasNeverRun) ? 'Pending' : 'Running'
}

/** How the Pod ended; undefined while a container runs or may run again. */
export function outcomeOf(
  { restartPolicy }: PodPlan,
  { containers, outcome }: PodState,
): 'Succeeded' | 'Failed' | undefined {
  if (outcome !== undefined) return outcome
  if (restartPolicy === 'Always' || containers.length === 0) return undefined
  if (containers.some((one) => one.phase !== 'idle' || one.end === undefined)) return undefined
  if (containers.every(({ end }) => end?.exitCode === 0)) return 'Succeeded'
  return restartPolicy === 'Never' ? 'Failed' : undefined
}

/** Whether the container has never run. */
function hasNeverRun({ phase, end }: ContainerState): boolean {
  return phase !== 'running' && end === undefined
}
