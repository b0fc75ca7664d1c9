import type { Deployment } from '../flows/deploy.ts'
import type { Attempt, LabHost } from '../lab/lab.ts'

export const SINGLE: Deployment = {
  key: 'ns/single',
  clusterIP: '172.30.16.1',
  endpoints: [{ ip: '10.180.0.1' }],
  ports: [{ name: '', port: 80, nodePort: 30080 }],
  spec: { type: 'NodePort' },
}
export const SINGLE_V6: Deployment = {
  key: 'ns/single-v6',
  clusterIP: 'fd00:172:30::16:1',
  endpoints: [{ ip: 'fd00:10::180:1' }],
}
export const EMPTY: Deployment = { key: 'ns/empty', clusterIP: '172.30.16.2', endpoints: [] }

/** A connection that works until a sabotage breaks it. */
export interface Probe {
  readonly place: LabHost
  readonly attempt: Attempt
  readonly good: 'answered' | 'refused'
  /** The name of the listener that must answer. */
  readonly name?: string
}

export const CLUSTER_IP: Probe = {
  place: 'pod',
  attempt: { source: '10.0.0.2', destination: '172.30.16.1', port: 80 },
  good: 'answered',
  name: '10.180.0.1:80',
}
export const CLUSTER_IP_V6: Probe = {
  place: 'pod',
  attempt: { source: 'fd00:10::2', destination: 'fd00:172:30::16:1', port: 80 },
  good: 'answered',
  name: '[fd00:10::180:1]:80',
}
export const NODE_PORT: Probe = {
  place: 'outside',
  attempt: { source: '203.0.113.2', destination: '192.168.0.2', port: 30080 },
  good: 'answered',
  name: '10.180.0.1:80',
}
export const HAIRPIN: Probe = {
  ...CLUSTER_IP,
  attempt: { ...CLUSTER_IP.attempt, source: '10.180.0.1' },
}
export const REFUSAL: Probe = {
  place: 'pod',
  attempt: { source: '10.0.0.2', destination: '172.30.16.2', port: 80 },
  good: 'refused',
}
