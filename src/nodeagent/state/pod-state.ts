import type { IpAddress } from '../../lib/ip.ts'
import type { ContainerPlan } from '../plan/container-plan.ts'
import type { PodPlan } from '../plan/pod-plan.ts'
import { PROBE_KINDS, type ProbeKind } from '../plan/probe-plan.ts'

/** All that is known of a Pod while it runs here; times in milliseconds since the epoch. */
export interface PodState {
  readonly startedAt: number
  readonly network: NetworkState
  /** In the order of the plan. */
  readonly containers: readonly ContainerState[]
  /** It is being stopped. */
  readonly stop: PodStop | undefined
  /** It had ended before this node agent started. */
  readonly outcome: 'Succeeded' | 'Failed' | undefined
}

export interface NetworkState {
  readonly phase: 'none' | 'making' | 'made' | 'removing'
  readonly ips: readonly IpAddress[]
  /** Why it could not be made the last time. */
  readonly problem: string
  readonly retryAt: number
}

export interface PodStop {
  /** When the containers that still run are killed. */
  readonly deadline: number
}

export interface ContainerState {
  readonly name: string
  readonly phase: 'idle' | 'starting' | 'running'
  /** How often it was started; an answer about an earlier run counts for nothing. */
  readonly run: number
  readonly startedAt: number
  readonly pid: number
  /** How its latest run ended, and the one before. */
  readonly end: ContainerEnd | undefined
  readonly endBefore: ContainerEnd | undefined
  /** Why it could not be started the last time. */
  readonly refusal: string
  /** How long it waits before its next start, should this run end. */
  readonly delayMs: number
  readonly retryAt: number
  readonly stop: ContainerStop | undefined
  readonly probes: Readonly<Partial<Record<ProbeKind, ProbeState>>>
}

export interface ContainerEnd {
  readonly exitCode: number
  readonly signal: number
  readonly reason: string
  readonly message: string
  readonly startedAt: number
  readonly finishedAt: number
}

/** A container on its way out: its hook runs, it got SIGTERM, or SIGKILL. */
export interface ContainerStop {
  readonly stage: 'hook' | 'hooked' | 'term' | 'kill'
  readonly deadline: number
}

export interface ProbeState {
  readonly nextAt: number
  /** A probe is running. */
  readonly isBusy: boolean
  /** In a row. */
  readonly passes: number
  readonly failures: number
  readonly verdict: 'unknown' | 'pass' | 'fail'
}

const NO_NETWORK: NetworkState = { phase: 'none', ips: [], problem: '', retryAt: 0 }

/** A Pod that was never here before. */
export function newPodState(plan: PodPlan, now: number): PodState {
  return {
    startedAt: now,
    network: NO_NETWORK,
    containers: plan.containers.map(newContainerState),
    stop: undefined,
    outcome: undefined,
  }
}

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
