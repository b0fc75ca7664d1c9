import type { Deployment } from '../flows/deploy.ts'

/** A Service with a node port, one backend on the node and one elsewhere, and another one. */
export const SERVICES: readonly Deployment[] = [
  {
    key: 'ns/two',
    clusterIP: '172.30.41.1',
    endpoints: [{ ip: '10.180.0.1' }, { ip: '10.180.2.1', node: 'far' }],
    ports: [{ name: '', port: 80, nodePort: 30_080 }],
    spec: { type: 'NodePort' },
  },
  { key: 'ns/other', clusterIP: '172.30.41.2', endpoints: [{ ip: '10.180.0.2' }] },
]
