import type { LabConfig } from './lab-flow.ts'

/** Configurations in which the forwarding table decides which backends there are, and which addresses serve. */
const DECIDED_ALIKE: ReadonlySet<string> = new Set([
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

/** What a client meets first: a ClusterIP, node ports, and a Service without endpoints. */
const BASIC: ReadonlySet<string> = new Set([
  'clusterip-general',
  'no-endpoints-reject',
  'nodeport-v4-default',
])

/**
 * The group of a configuration. `alike`: every mode gets the same answer from the forwarding table, so that one mode
 * shows it. `basic` and `rules`: each mode has rules of its own.
 */
export function groupOf({ id }: Pick<LabConfig, 'id'>): 'alike' | 'basic' | 'rules' {
  if (DECIDED_ALIKE.has(id)) return 'alike'
  return BASIC.has(id) ? 'basic' : 'rules'
}
