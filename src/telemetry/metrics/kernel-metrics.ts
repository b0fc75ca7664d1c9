import type { MetricDefinition } from './definition.ts'

/** Intended against actual: what the kernel holds of ours. */
export const kernelMetrics = {
  appliedResourceVersion: {
    name: 'applied_resource_version',
    type: 'gauge',
    labels: ['resource'],
    help: 'Highest resourceVersion of services, endpointslices, endpoints or nodes whose effect is in the kernel.',
  },
  programmedObjects: {
    name: 'programmed_objects',
    type: 'gauge',
    labels: ['kind', 'ip_family'],
    help: 'Kernel objects that the daemon keeps: chains, sets, virtual servers, …; ip_family any: of no single one.',
  },
  entries: {
    name: 'entries',
    type: 'gauge',
    labels: ['status'],
    help: 'Service ports of this node by status: Pending, Done, Conflict or Error.',
  },
  applyFailures: {
    name: 'apply_failures_total',
    type: 'counter',
    labels: ['code'],
    help: 'Objects that the kernel refused, by error code; each is tried again.',
  },
  driftRepairs: {
    name: 'drift_repairs_total',
    type: 'counter',
    labels: ['object', 'cause'],
    help: 'Objects that another process removed, altered or added, and node-proxy repaired.',
  },
  drainingBackends: {
    name: 'draining_backends',
    type: 'gauge',
    labels: [],
    help: 'Backends that get no new connection and keep those they have for a while; 0 in modes where connections outlive the rules.',
  },
  modeInfo: {
    name: 'mode_info',
    type: 'gauge',
    labels: ['mode', 'backend'],
    help: '1 for the mode that is at work; backend none: no iptables is used.',
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>
