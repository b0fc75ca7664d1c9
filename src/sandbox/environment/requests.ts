import { CLIENT_IP, NODE_IP, STRANGER_IP } from '../network/plan.ts'
import type { Request } from './request.ts'

const web = { service: 'web', url: 'http://10.96.0.10/' }
const local = { service: 'web-local', url: `http://${NODE_IP}:30081/` }
const balanced = { service: 'web-balanced', url: 'http://198.51.100.10/' }
const cart = { service: 'cart', url: `http://${NODE_IP}:30084/` }

/** The requests of tour and screen; addresses are those of examples/services. */
export const REQUESTS = {
  podToWeb: { ...web, from: 'pod-1' },
  nodeToWeb: { ...web, from: 'node' },
  clientToPublic: { service: 'web-public', url: `http://${NODE_IP}:30080/`, from: 'client' },
  clientToLocal: { ...local, from: 'client', source: CLIENT_IP },
  clientToElsewhere: { service: 'web-elsewhere', url: `http://${NODE_IP}:30082/`, from: 'client' },
  clientToBalanced: { ...balanced, from: 'client', source: CLIENT_IP },
  strangerToBalanced: { ...balanced, from: 'client', source: STRANGER_IP },
  clientToCart: { ...cart, from: 'client', source: CLIENT_IP },
  strangerToCart: { ...cart, from: 'client', source: STRANGER_IP },
  podToEmpty: { service: 'empty', url: 'http://10.96.0.70/', from: 'pod-1' },
  clientToEmpty: { service: 'empty', url: `http://${NODE_IP}:30085/`, from: 'client' },
} as const satisfies Readonly<Record<string, Request>>
