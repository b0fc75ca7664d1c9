import type { LabConfig } from './lab-flow.ts'

/** Configurations in which the forwarding table decides which backends there are, and which addresses serve. */
const CONFIGURATIONS: ReadonlySet<string> = new Set([
  'healthcheck-nodeport',
  'itp-cluster',
  'itp-local-none',
  'itp-local-one',
  'lb-ipmode',
  'nodeport-v4-two-cidrs',
  'service-selection',
  'slices-merge',
  'terminating-cluster-ready-exist',
  'terminating-local-only-terminating',
  'topology-missing-hint',
  'topology-same-node',
  'topology-zone-match',
])

/** Whether every mode gets the same answer from the forwarding table, so that one mode shows it. */
export function isDecidedAlike({ id }: Pick<LabConfig, 'id'>): boolean {
  return CONFIGURATIONS.has(id)
}
