import { own, type Raw } from './raw.ts'

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const LONGEST_SUBDOMAIN = 253

/** RFC 1123 label: what namespaces, Services and ports are called. */
export function isLabel(text: string): boolean {
  return LABEL.test(text)
}

/** Labels joined by dots, 253 characters at most: what other objects are called. */
export function isSubdomain(text: string): boolean {
  return text.length <= LONGEST_SUBDOMAIN && text.split('.').every(isLabel)
}

/** Label and annotation names that we heed, ours and the ecosystem's; the first one present counts. */
export const NAMES = {
  serviceOfSlice: ['kubernetes.io/service-name', 'orch.io/service-name'],
  proxyName: ['service.orch.io/service-proxy-name', 'service.kubernetes.io/service-proxy-name'],
  headless: ['service.orch.io/headless', 'service.kubernetes.io/headless'],
  sourceRanges: [
    'service.beta.orch.io/load-balancer-source-ranges',
    'service.beta.kubernetes.io/load-balancer-source-ranges',
  ],
  scheduler: ['service.orch.io/ipvs-scheduler'],
  weight: ['service.orch.io/weight'],
  zone: [
    'topology.kubernetes.io/zone',
    'topology.orch.io/zone',
    'failure-domain.beta.kubernetes.io/zone',
  ],
  triggerTime: [
    'endpoints.kubernetes.io/last-change-trigger-time',
    'endpoints.orch.io/last-change-trigger-time',
  ],
} as const

/** The value of the first of these names that a label or annotation map has. */
export function named(map: Raw, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = own(map, name)
    if (typeof value === 'string') return value
  }
  return undefined
}
