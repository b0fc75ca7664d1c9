import { expect } from 'vitest'
import type { HttpTask, RequestsOutcome } from '../pods/tasks.ts'
import { clientInPod, clientOutside } from './clients.ts'
import type { Cluster } from './cluster.ts'
import { clusterIpOf, nodePortOf, podOn } from './lookups.ts'
import { programs, type ServerOptions, serverOnEachNode, servers, service } from './workloads.ts'

/** 200 connections a second: three quarters from outside at a node port, one from a Pod at the cluster IP. */
export const OUTSIDE_EVERY_MS = 1_000 / 150
export const IN_POD_EVERY_MS = 1_000 / 50
export const AT_LEAST_A_SECOND = 180

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

/**
 * Connects to `web` from outside, at the node port of the second node, and from a Pod, at the cluster IP, while something
 * changes. Expects that no connection fails; returns what the client outside saw.
 */
export async function expectNoneFailed(
  { kubectl, nodes }: Cluster,
  what: string,
  change: () => Promise<void>,
): Promise<RequestsOutcome> {
  const pod = await podOn(kubectl, 'client', 'node-1')
  const inPod = clientInPod(kubectl, pod.metadata.name)
  const nodePort = await nodePortOf(kubectl, 'web')
  const beyond = url(`${nodes[1]?.addresses.v4}:${nodePort}`, OUTSIDE_EVERY_MS)
  const inside = url(await clusterIpOf(kubectl, 'web'), IN_POD_EVERY_MS)
  const outcomes: RequestsOutcome[] = []
  const last = await clientOutside().during(beyond, async () => {
    outcomes.push(await inPod.during(inside, change))
  })
  outcomes.push(last)
  for (const { attempts, failures, seconds } of outcomes) {
    process.stderr.write(
      `cluster: ${what}: ${attempts} connections in ${seconds.toFixed(1)} s, failed: ${JSON.stringify(failures)}\n`,
    )
    expect(failures).toEqual({})
  }
  const rates = outcomes.map(({ attempts, seconds }) => attempts / seconds)
  expect(rates.reduce((sum, rate) => sum + rate, 0)).toBeGreaterThan(AT_LEAST_A_SECOND)
  return last
}

function url(host: string, everyMs: number): HttpTask {
  return { kind: 'http', url: `http://${host}/`, everyMs }
}
