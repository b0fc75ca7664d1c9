import type { IpAddress } from '../../lib/ip.ts'
import type { ContainerPlan } from '../plan/container-plan.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import { PROBE_KINDS, type ProbeKind } from '../plan/probe-plan.ts'

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

/** The stop of a Pod. */
export interface PodStop {
  /** When running containers get SIGKILL. */
  readonly deadline: number
}

/** The state of a container. */
export interface ContainerState {
  readonly name: string
  readonly phase: 'idle' | 'starting' | 'running'
  /** How often it was started. Events of an earlier run are ignored. */
  readonly run: number
  readonly startedAt: number
  readonly pid: number
  /** How its last run ended, and the one before. */
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

/** The state of a probe. */
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
