import type { LabConfig } from './lab-flow.ts'

/** Configurations for which the forwarding table alone decides the backends and the addresses that serve. */
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

/** The basic configurations: a ClusterIP, node ports, and a Service without endpoints. */
const BASIC: ReadonlySet<string> = new Set([
  'clusterip-general',
  'no-endpoints-reject',
  'nodeport-v4-default',
])

/**
 * The group of a configuration. `alike`: the forwarding table decides for all modes, so testing one mode is enough.
 * `basic` and `rules`: each mode has rules of its own.
 */
export function groupOf({ id }: Pick<LabConfig, 'id'>): 'alike' | 'basic' | 'rules' {
  if (DECIDED_ALIKE.has(id)) return 'alike'
  return BASIC.has(id) ? 'basic' : 'rules'
}
