import { type Deployment, deploy } from '../flows/deploy.ts'
import type { Lab } from '../lab/lab.ts'
import type { Stage, Weights } from './behaviour.ts'
import { labStage } from './lab-stage.ts'

const EXTERNAL = Array.from({ length: 7 }, (_, index) => `198.51.100.${index + 1}`)

/** A stage whose virtual server is a Service with these annotations, which the daemon programs. */
export function daemonStage(
  lab: Lab,
  clusterIP: string,
  annotations: Readonly<Record<string, string>> = {},
): Promise<Stage> {
  return labStage(lab, {
    destinations: [clusterIP, ...EXTERNAL],
    balance: (weights) => deploy(lab, weightedService(clusterIP, weights, annotations)),
  })
}

/** Endpoints by name, behind a ClusterIP and seven external addresses. */
export function weightedService(
  clusterIP: string,
  weights: Weights,
  annotations: Readonly<Record<string, string>>,
): Deployment {
  const byAddress = Object.entries(weights).map(
    ([name, weight]) => [name.replace(/:\d+$/, ''), weight] as const,
  )
  return {
    key: 'ns/staged',
    clusterIP,
    annotations,
    spec: { externalIPs: EXTERNAL },
    endpoints: byAddress.map(([ip]) => ({ ip, node: 'far' })),
    weights: Object.fromEntries(byAddress),
  }
}

/** The annotation that chooses a Service's scheduler. */
export function scheduledBy(scheduler: string): Readonly<Record<string, string>> {
  return { 'service.orch.io/ipvs-scheduler': scheduler }
}
