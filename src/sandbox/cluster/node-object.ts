import type { JsonObject } from '../../lib/json.ts'
import { NODE_IP, NODE_NAME } from '../network/plan.ts'

/** The Node object that a kubelet would register. */
export function nodeObject(): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: NODE_NAME, labels: { 'kubernetes.io/hostname': NODE_NAME } },
    spec: { podCIDR: '10.244.0.0/24', podCIDRs: ['10.244.0.0/24'] },
    status: {
      addresses: [
        { type: 'InternalIP', address: NODE_IP },
        { type: 'Hostname', address: NODE_NAME },
      ],
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  }
}
