import { HEADLESS, SERVICE_NAME, TRIGGER_TIME, ZONE } from './label-names.ts'

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const DNS_LABEL = /^(?!-)[A-Za-z0-9_-]{1,63}(?<!-)$/
const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?)?$/
const PORT_NAME = /^(?=.{1,15}$)(?=.*[a-z])[a-z0-9]+(?:-[a-z0-9]+)*$/
const MAX_SUBDOMAIN_LENGTH = 253

/** RFC 1123 label: what namespaces, Services and ports are called. */
export function isLabel(text: string): boolean {
  return LABEL.test(text)
}

/** Labels joined by dots, 253 characters at most: what other objects are called. */
export function isSubdomain(text: string): boolean {
  return text.length <= MAX_SUBDOMAIN_LENGTH && text.split('.').every(isLabel)
}

/**
 * A name that DNS can answer for, as the target of an ExternalName Service may be written: labels of letters,
 * digits, `-` and `_` in either case, 253 characters at most, with or without the final dot.
 */
export function isDnsName(text: string): boolean {
  const name = text.endsWith('.') ? text.slice(0, -1) : text
  return name.length <= MAX_SUBDOMAIN_LENGTH && name.split('.').every(isDnsLabel)
}

function isDnsLabel(text: string): boolean {
  return DNS_LABEL.test(text)
}

/** One segment of a URL: what roles and bindings are called, such as `system:node-proxy`. */
export function isPathSegment(text: string): boolean {
  const fits = text !== '' && text.length <= MAX_SUBDOMAIN_LENGTH
  return fits && text !== '.' && text !== '..' && !/[/%\p{C}\p{Zl}\p{Zp}]/u.test(text)
}

/** IANA service name (RFC 6335): what the ports of containers are called. */
export function isPortName(text: string): boolean {
  return PORT_NAME.test(text)
}

/** What the value of a label may be: up to 63 characters, or nothing. */
export function isLabelValue(text: string): boolean {
  return LABEL_VALUE.test(text)
}

/** What a label or annotation may be called: `name`, or `dns.prefix/name`. */
export function isQualifiedName(text: string): boolean {
  const slash = text.indexOf('/')
  const name = text.slice(slash + 1)
  return name !== '' && isLabelValue(name) && (slash < 0 || isSubdomain(text.slice(0, slash)))
}

/** Where the Leases of nodes are, by which they are heard of; each has the name of its node. */
export const NODE_LEASES = 'kube-node-lease'

/** The account of Pods that name none; every namespace has it. */
export const DEFAULT_ACCOUNT = 'default'

/** The ConfigMap in every namespace by which Pods verify the API server. */
export const ROOT_CA_CONFIG_MAP = 'kube-root-ca.crt'

/** Secrets that hold the token of a ServiceAccount, ours first. */
export const TOKEN_SECRET_TYPES: readonly string[] = [
  'orch.io/service-account-token',
  'kubernetes.io/service-account-token',
]

/** Keys of the data of such a Secret; the ConfigMap has the certificates under the same one. */
export const TOKEN_KEY = 'token'
export const CA_KEY = 'ca.crt'
export const NAMESPACE_KEY = 'namespace'

/**
 * Names of labels and annotations that mean something here, ours first, then those of
 * Kubernetes. Where several are present, the first counts.
 */
export const NAMES = {
  serviceOfSlice: [SERVICE_NAME, 'orch.io/service-name'],
  proxyName: ['service.orch.io/service-proxy-name', 'service.kubernetes.io/service-proxy-name'],
  headless: ['service.orch.io/headless', HEADLESS],
  sourceRanges: [
    'service.beta.orch.io/load-balancer-source-ranges',
    'service.beta.kubernetes.io/load-balancer-source-ranges',
  ],
  scheduler: ['service.orch.io/ipvs-scheduler', 'service.kubernetes.io/ipvs-scheduler'],
  proxyProtocol: ['service.orch.io/proxy-protocol', 'service.kubernetes.io/proxy-protocol'],
  weight: ['service.orch.io/weight', 'service.kubernetes.io/weight'],
  zone: [
    ZONE,
    'topology.orch.io/zone',
    'failure-domain.beta.kubernetes.io/zone',
    'failure-domain.beta.orch.io/zone',
  ],
  /** Of a Service: whether its endpoints get hints in proportion to the processors of each zone. */
  topologyMode: [
    'service.orch.io/topology-aware-hints',
    'service.kubernetes.io/topology-aware-hints',
    'service.orch.io/topology-mode',
    'service.kubernetes.io/topology-mode',
  ],
  /** Of a Node, whatever the value: it runs the control plane, and no ordinary Pods. */
  controlPlane: [
    'node-role.orch.io/control-plane',
    'node-role.kubernetes.io/control-plane',
    'node-role.kubernetes.io/master',
  ],
  triggerTime: [TRIGGER_TIME, 'endpoints.orch.io/last-change-trigger-time'],
  /** Of a ServiceAccount: its Pods reach the Secrets that it lists, and no others. Either one counts. */
  enforceMountableSecrets: [
    'orch.io/enforce-mountable-secrets',
    'kubernetes.io/enforce-mountable-secrets',
  ],
  /** Of a Pod that its node runs from a file, whatever the value. */
  mirror: ['orch.io/config.mirror', 'kubernetes.io/config.mirror'],
  serviceAccount: ['orch.io/service-account.name', 'kubernetes.io/service-account.name'],
  serviceAccountUid: ['orch.io/service-account.uid', 'kubernetes.io/service-account.uid'],
} as const
