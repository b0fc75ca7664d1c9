import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import type { HttpTask, RequestsOutcome } from '../pods/tasks.ts'
import { clientInPod, clientOutside } from './clients.ts'
import type { Cluster } from './cluster.ts'
import type { IpvsMachine } from './ipvs-machine.ts'
import { clusterIpOf, nodePortOf, podOn } from './lookups.ts'
import { programs, type ServerOptions, serverOnEachNode, servers, service } from './workloads.ts'

const A_SECOND = 200
/** 200 connections a second: three quarters from outside at a node port, one from a Pod at the cluster IP. */
export const OUTSIDE_EVERY_MS = 1_000 / (0.75 * A_SECOND)
export const IN_POD_EVERY_MS = 1_000 / (0.25 * A_SECOND)
/** The part of the connections that a loaded machine must still begin in time. */
const AT_LEAST = 0.9
export const AT_LEAST_A_SECOND = AT_LEAST * A_SECOND
/** In a shorter time the start of the clients would decide how many connections there are in a second. */
const LEAST_MS = 5_000

/** Starts the Service `web`, four Pods, and the Pods from which clients connect to it. */
export async function startLoadTargets(
  { kubectl }: Cluster,
  options: ServerOptions = {},
): Promise<void> {
  await kubectl.apply(
    programs(),
    servers('web', { replicas: 4, ...options }),
    serverOnEachNode('client'),
    service('web', 'web', { type: 'NodePort' }),
  )
  for (const workload of ['deployment/web', 'daemonset/client']) await kubectl.rolledOut(workload)
}

export interface LoadOptions {
  /** 1 unless set. */
  readonly timesAsMany?: number
  /** Over which both connect, the cluster IP from outside as well. */
  readonly over?: IpvsMachine | undefined
}

/**
 * Connects to `web` as `connectDuring` does, for five seconds at least. Expects that no connection fails; returns what the
 * client of the node port saw.
 */
export async function expectNoneFailed(
  cluster: Cluster,
  what: string,
  change: () => Promise<void>,
  options: LoadOptions = {},
): Promise<RequestsOutcome> {
  const { timesAsMany = 1 } = options
  const lasting = async () => void (await Promise.all([change(), delay(LEAST_MS)]))
  const outcomes = await connectDuring(cluster, what, lasting, options)
  for (const { failures } of outcomes) expect(failures).toEqual({})
  const rates = outcomes.map(({ attempts, seconds }) => attempts / seconds)
  const rate = rates.reduce((sum, one) => sum + one, 0)
  expect(rate).toBeGreaterThan(AT_LEAST_A_SECOND * timesAsMany)
  return outcomes[1]
}

/**
 * Connects to `web` 200 times a second (or `timesAsMany` times as often) while something changes. Returns what a client in
 * a Pod of the first node saw, at the cluster IP, and one outside, at the node port of the second node; where `over` is
 * given, two clients outside at the addresses of that machine.
 */
export async function connectDuring(
  { kubectl, nodes }: Cluster,
  what: string,
  change: () => Promise<void>,
  { timesAsMany = 1, over }: LoadOptions = {},
): Promise<readonly [clusterIp: RequestsOutcome, nodePort: RequestsOutcome]> {
  const pod = await podOn(kubectl, 'client', 'node-1')
  const ofClusterIp = over === undefined ? clientInPod(kubectl, pod.metadata.name) : clientOutside()
  const toClusterIp = url(await clusterIpOf(kubectl, 'web'), IN_POD_EVERY_MS / timesAsMany)
  const clusterIp = over === undefined ? toClusterIp : { ...toClusterIp, from: over.otherClient }
  const router = over?.address ?? nodes[1]?.addresses.v4
  const nodePort = await nodePortOf(kubectl, 'web')
  const beyond = url(`${router}:${nodePort}`, OUTSIDE_EVERY_MS / timesAsMany)
  let first: Promise<RequestsOutcome> | undefined
  const last = await clientOutside().during(beyond, async () => {
    first = ofClusterIp.during(clusterIp, change)
    await first
  })
  const outcomes = [await first!, last] as const
  for (const [index, outcome] of outcomes.entries()) {
    const { attempts, failures, seconds } = outcome
    process.stderr.write(
      `cluster: ${what}: ${attempts} connections in ${seconds.toFixed(1)} s, failed: ${JSON.stringify(failures)}\n`,
    )
    printFailures(index === 0 ? 'to the cluster IP' : 'to the node port', outcome)
  }
  return outcomes
}

/** Prints the first failures of each kind. */
export function printFailures(who: string, { firstFailures }: RequestsOutcome): void {
  for (const { at, port, why } of firstFailures) {
    const how = port === undefined ? 'never connected' : `connected from port ${port}`
    process.stderr.write(`cluster: failed ${who}: begun ${at}, ${how}: ${why}\n`)
  }
}

function url(host: string, everyMs: number): HttpTask {
  return { kind: 'http', url: `http://${host}/`, everyMs }
}
