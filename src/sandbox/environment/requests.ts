import { CLIENT_IP, NODE_IP, OTHER_CLIENT_IP } from '../network/topology.ts'
import type { Request } from './request.ts'

/** The Service by its address, for the node, which does not use the DNS servers of pods. */
const web = { service: 'web', url: 'http://10.96.0.10/' }
const api = { service: 'orch', from: 'pod-1', asAccount: true } as const
const namespace = 'https://orch.default.svc/api/v1/namespaces/default'
const local = { service: 'web-local', url: `http://${NODE_IP}:30081/` }
const balanced = { service: 'web-balanced', url: 'http://198.51.100.10/' }
const cart = { service: 'cart', url: `http://${NODE_IP}:30084/` }

/** The requests of tour and screen. Pods use names; the addresses are those of examples/services. */
export const REQUESTS = {
  podToWeb: { service: 'web', url: 'http://web/', from: 'pod-1' },
  podToFullName: {
    service: 'web',
    url: 'http://web.default.svc.cluster.local/',
    from: 'pod-2',
  },
  podReadsServices: { ...api, url: `${namespace}/services` },
  podReadsSecrets: { ...api, url: `${namespace}/secrets` },
  nodeToWeb: { ...web, from: 'node' },
  clientToPublic: { service: 'web-public', url: `http://${NODE_IP}:30080/`, from: 'client' },
  clientToLocal: { ...local, from: 'client', source: CLIENT_IP },
  clientToElsewhere: { service: 'web-elsewhere', url: `http://${NODE_IP}:30082/`, from: 'client' },
  clientToBalanced: { ...balanced, from: 'client', source: CLIENT_IP },
  otherClientToBalanced: { ...balanced, from: 'client', source: OTHER_CLIENT_IP },
  clientToCart: { ...cart, from: 'client', source: CLIENT_IP },
  otherClientToCart: { ...cart, from: 'client', source: OTHER_CLIENT_IP },
  podToEmpty: { service: 'empty', url: 'http://empty.default/', from: 'pod-1' },
  clientToEmpty: { service: 'empty', url: `http://${NODE_IP}:30085/`, from: 'client' },
} as const satisfies Readonly<Record<string, Request>>
