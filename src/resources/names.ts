import { HEADLESS, SERVICE_NAME, TRIGGER_TIME, ZONE } from './label-names.ts'

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const DNS_LABEL = /^(?!-)[A-Za-z0-9_-]{1,63}(?<!-)$/
const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?)?$/
const PORT_NAME = /^(?=.{1,15}$)(?=.*[a-z])[a-z0-9]+(?:-[a-z0-9]+)*$/
const MAX_SUBDOMAIN_LENGTH = 253

/** RFC 1123 label: the names of namespaces, Services and ports. */
export function isLabel(text: string): boolean {
  return LABEL.test(text)
}

/** Labels joined by dots, at most 253 characters: the names of most other objects. */
export function isSubdomain(text: string): boolean {
  return text.length <= MAX_SUBDOMAIN_LENGTH && text.split('.').every(isLabel)
}

/**
 * A name that DNS can resolve, in the forms that the target of an ExternalName Service may have: labels of letters,
 * digits, `-` and `_` in either case, at most 253 characters, with or without the final dot.
 */
export function isDnsName(text: string): boolean {
  const name = text.endsWith('.') ? text.slice(0, -1) : text
  return name.length <= MAX_SUBDOMAIN_LENGTH && name.split('.').every(isDnsLabel)
}

function isDnsLabel(text: string): boolean {
  return DNS_LABEL.test(text)
}

/** One segment of a URL: the names of roles and bindings, such as `system:node-proxy`. */
export function isPathSegment(text: string): boolean {
  const fits = text !== '' && text.length <= MAX_SUBDOMAIN_LENGTH
  return fits && text !== '.' && text !== '..' && !/[/%\p{C}\p{Zl}\p{Zp}]/u.test(text)
}

/** IANA service name (RFC 6335): the names of container ports. */
export function isPortName(text: string): boolean {
  return PORT_NAME.test(text)
}

/** Whether a text may be the value of a label: up to 63 characters, or empty. */
export function isLabelValue(text: string): boolean {
  return LABEL_VALUE.test(text)
}

/** Whether a text may be the key of a label or annotation: `name`, or `dns.prefix/name`. */
export function isQualifiedName(text: string): boolean {
  const slash = text.indexOf('/')
  const name = text.slice(slash + 1)
  return name !== '' && isLabelValue(name) && (slash < 0 || isSubdomain(text.slice(0, slash)))
}

/** The namespace of the Leases that nodes renew as heartbeats; each Lease has the name of its node. */
export const NODE_LEASES = 'kube-node-lease'

/** The ServiceAccount of Pods that name none; every namespace has it. */
export const DEFAULT_ACCOUNT = 'default'

/** The ConfigMap in every namespace with the certificates by which Pods verify the API server. */
export const ROOT_CA_CONFIG_MAP = 'kube-root-ca.crt'

/** Secrets that hold the token of a ServiceAccount, ours first. */
export const TOKEN_SECRET_TYPES: readonly string[] = [
  'orch.io/service-account-token',
  'kubernetes.io/service-account-token',
]

/** Keys in the data of such a Secret; the ConfigMap uses the same key for the certificates. */
export const TOKEN_KEY = 'token'
export const CA_KEY = 'ca.crt'
export const NAMESPACE_KEY = 'namespace'

/**
 * Labels and annotations with a meaning here, first our own, then those of Kubernetes. If several are present, the
 * first counts.
 */
export const NAMES = {
  serviceOfSlice: [SERVICE_NAME, 'orch.io/service-name'],
  proxyName: ['service.orch.io/service-proxy-name', 'service.kubernetes.io/service-proxy-name'],
  headless: ['service.orch.io/headless', HEADLESS],
  sourceRanges: [
    'service.beta.orch.io/load-balancer-source-ranges',
    'service.beta.kubernetes.io/load-balancer-source-ranges',
  ],
  /** On a Service: the pool from which orch-server takes its addresses. */
  loadBalancerPool: ['service.orch.io/load-balancer-pool'],
  /** On a Service: the addresses that it requests. */
  loadBalancerIPs: ['service.orch.io/load-balancer-ips'],
  /** On a Service: a key; Services with the same key share an address. */
  sharingKey: ['service.orch.io/load-balancer-sharing-key'],
  scheduler: ['service.orch.io/ipvs-scheduler', 'service.kubernetes.io/ipvs-scheduler'],
  proxyProtocol: ['service.orch.io/proxy-protocol', 'service.kubernetes.io/proxy-protocol'],
  weight: ['service.orch.io/weight', 'service.kubernetes.io/weight'],
  zone: [
    ZONE,
    'topology.orch.io/zone',
    'failure-domain.beta.kubernetes.io/zone',
    'failure-domain.beta.orch.io/zone',
  ],
  /** On a Node: load balancers must not use it. */
  excluded: [
    'node.orch.io/exclude-from-external-load-balancers',
    'node.kubernetes.io/exclude-from-external-load-balancers',
  ],
  /** On a Service: whether its endpoints get hints in proportion to the processors of each zone. */
  topologyMode: [
    'service.orch.io/topology-aware-hints',
    'service.kubernetes.io/topology-aware-hints',
    'service.orch.io/topology-mode',
    'service.kubernetes.io/topology-mode',
  ],
  /** On a Node, with any value: it runs the control plane, and no ordinary Pods. */
  controlPlane: [
    'node-role.orch.io/control-plane',
    'node-role.kubernetes.io/control-plane',
    'node-role.kubernetes.io/master',
  ],
  triggerTime: [TRIGGER_TIME, 'endpoints.orch.io/last-change-trigger-time'],
  /** On a ServiceAccount: its Pods can use only the Secrets that it lists. Either annotation has this effect. */
  enforceMountableSecrets: [
    'orch.io/enforce-mountable-secrets',
    'kubernetes.io/enforce-mountable-secrets',
  ],
  /** On a Pod that its node runs from a file, with any value. */
  mirror: ['orch.io/config.mirror', 'kubernetes.io/config.mirror'],
  serviceAccount: ['orch.io/service-account.name', 'kubernetes.io/service-account.name'],
  serviceAccountUid: ['orch.io/service-account.uid', 'kubernetes.io/service-account.uid'],
} as const
