import { familyOf, parseCidr } from '../lib/ip.ts'
import { arrayAt, type JsonObject, scalarText, stringAt, valueAt } from '../lib/json.ts'
import { quote } from '../lib/quote.ts'
import { LOAD_BALANCER_CONDITION } from '../resources/condition-names.ts'
import { BOOTSTRAPPING } from '../resources/label-names.ts'
import { NAMES } from '../resources/names.ts'
import { apiToken } from './checks/api-token.ts'
import { clusterDns } from './checks/cluster-dns.ts'
import { endpointsMissing } from './checks/endpoints-missing.ts'
import { externalName } from './checks/external-name.ts'
import { imagePull } from './checks/image-pull.ts'
import { localPolicy } from './checks/local-policy.ts'
import { accountsOf, missingAccount } from './checks/missing-account.ts'
import { networkPolicy } from './checks/network-policy.ts'
import { podDns } from './checks/pod-dns.ts'
import { podsNotReady } from './checks/pods-not-ready.ts'
import { scaledToZero } from './checks/scaled-to-zero.ts'
import { selectorMatchesNothing } from './checks/selector-matches-nothing.ts'
import { sessionAffinity } from './checks/session-affinity.ts'
import { targetPort } from './checks/target-port.ts'
import { tokenSecret } from './checks/token-secret.ts'
import type { ClusterEvidence, EvidenceKind } from './evidence/cluster-evidence.ts'
import type { Check, Finding } from './evidence/finding.ts'
import { concernedBy, type InspectedObject } from './evidence/inspected-object.ts'
import { conditionOf, keyOf, labelsOf, nameOf, namespaceOf } from './evidence/objects.ts'

/** A binding that gives nothing: its role or its account is not there. */
const brokenBinding: Check = {
  name: 'broken-binding',
  find: (evidence) =>
    (['rolebindings', 'clusterrolebindings'] as const).flatMap((kind) =>
      evidence
        .all(kind)
        .flatMap((binding) => [
          ...missingRole(kind, binding, evidence),
          ...missingAccounts(kind, binding, evidence),
        ]),
    ),
}

const SINGULAR = { rolebindings: 'rolebinding', clusterrolebindings: 'clusterrolebinding' } as const

/** A Service of type LoadBalancer that has no address yet: nothing assigns one, or no pool has one left. */
const loadBalancerPending: Check = {
  name: 'load-balancer-pending',
  find: (evidence) =>
    evidence
      .all('services')
      .filter(isPending)
      .map((service) => {
        const condition = conditionOf(service, LOAD_BALANCER_CONDITION)
        const message = stringAt(condition, 'message')
        const { why, remedy } = REASONS.get(stringAt(condition, 'reason')) ?? unknownReason(message)
        const loadBalancerClass = stringAt(service, 'spec', 'loadBalancerClass')
        return {
          check: loadBalancerPending.name,
          symptom: 'External access fails',
          object: `service/${keyOf(service)}`,
          affects: [],
          cause: `it is of type LoadBalancer, and ${why}`,
          evidence: [
            message === '' ? 'no controller has reported on it' : message,
            ...(loadBalancerClass === '' ? [] : [`its loadBalancerClass is ${loadBalancerClass}`]),
          ],
          remedy,
          commands: [`orchctl -n ${namespaceOf(service)} describe service ${nameOf(service)}`],
        }
      }),
}

/** By the reason of the condition that orch-server writes. */
const REASONS: ReadonlyMap<string, Reason> = new Map([
  [
    'PoolExhausted',
    {
      why: 'no pool has an address left for it',
      remedy: 'delete a Service that has one, or add addresses to the pools (--load-balancer-pool)',
    },
  ],
  [
    'AddressInUse',
    {
      why: 'its loadBalancerIP belongs to another Service',
      remedy: 'remove spec.loadBalancerIP, or write a free address',
    },
  ],
  [
    'AddressNotUsable',
    {
      why: 'its loadBalancerIP is in no pool',
      remedy: 'remove spec.loadBalancerIP, or write an address of a pool (--load-balancer-pool)',
    },
  ],
])

/** Source ranges that admit no client: none can be read, all are of a loopback, or of the other family. */
const sourceRanges: Check = {
  name: 'source-ranges',
  find: (evidence) =>
    evidence
      .all('services')
      .filter((service) => stringAt(service, 'spec', 'type') === 'LoadBalancer')
      .flatMap(findingOf),
}

/** Two Services with one address and port: nodes forward it to the one whose name comes first, and the other has none. */
const addressConflict: Check = {
  name: 'address-conflict',
  find: (evidence) => {
    const claims = evidence.all('services').flatMap(claimsOf)
    const rivals = [...Map.groupBy(claims, ({ claim }) => claim)]
      .map(([claim, all]) => ({ claim, keys: [...new Set(all.map(({ key }) => key))].sort() }))
      .filter(({ keys }) => keys.length > 1)
    const services = new Map(evidence.all('services').map((one) => [keyOf(one), one]))
    return rivals.map(({ claim, keys: [winner = '', ...losers] }) => {
      const loser = services.get(losers[0] ?? '') ?? {}
      return {
        check: addressConflict.name,
        symptom: 'Service not reachable',
        object: `service/${losers[0]}`,
        affects: losers.slice(1).map((key) => `service/${key}`),
        cause: `${claim} belongs to service/${winner}, too, which gets its connections`,
        evidence: [
          `${losers.length + 1} Services claim ${claim}: ${[winner, ...losers].join(', ')}`,
        ],
        remedy: 'give one of them another address or port',
        commands: [`orchctl -n ${namespaceOf(loser)} edit service/${nameOf(loser)}`],
      }
    })
  },
}

/**
 * Every check; in this order findings are shown. First what stops the whole cluster or all Pods of an account, then what
 * stops a Service for all its clients, then for some of them; last what may be meant as it is.
 */
export const CHECKS: readonly Check[] = [
  clusterDns,
  missingAccount,
  imagePull,
  scaledToZero,
  selectorMatchesNothing,
  podsNotReady,
  targetPort,
  endpointsMissing,
  externalName,
  networkPolicy,
  addressConflict,
  loadBalancerPending,
  sourceRanges,
  localPolicy,
  tokenSecret,
  apiToken,
  brokenBinding,
  podDns,
  sessionAffinity,
]

/**
 * What is wrong in a cluster, in the order of `CHECKS`. With an object: only what concerns it or what it needs, of a Service
 * its Pods, of a Pod its account, of both the DNS of the cluster.
 */
export function diagnose(
  evidence: ClusterEvidence,
  inspected?: InspectedObject,
): readonly Finding[] {
  const findings = CHECKS.flatMap((check) => check.find(evidence, inspected))
  if (inspected === undefined) return findings
  const concerned = new Set(concernedBy(evidence, inspected))
  const isConcerned = ({ check, object, affects }: Finding): boolean =>
    (check === clusterDns.name && inspected.kind !== 'serviceaccount') ||
    [object, ...affects].some((one) => concerned.has(one))
  return findings.filter(isConcerned)
}

interface Claim {
  /** `192.0.2.1:80/TCP` */
  readonly claim: string
  readonly key: string
}

function claimsOf(service: JsonObject): readonly Claim[] {
  const spec = (list: string) => arrayAt(service, 'spec', list).map(scalarText)
  const balanced = arrayAt(service, 'status', 'loadBalancer', 'ingress').filter(
    (one) => stringAt(one, 'ipMode') !== 'Proxy',
  )
  const addresses = [
    ...spec('clusterIPs'),
    ...spec('externalIPs'),
    ...balanced.map((one) => stringAt(one, 'ip')),
  ].filter((ip) => ip !== '' && ip !== 'None')
  return arrayAt(service, 'spec', 'ports').flatMap((port) => {
    const number = scalarText(valueAt(port, 'port'))
    const protocol = stringAt(port, 'protocol') || 'TCP'
    return [...new Set(addresses)].map((ip) => ({
      claim: `${ip.includes(':') ? `[${ip}]` : ip}:${number}/${protocol}`,
      key: keyOf(service),
    }))
  })
}

function findingOf(service: JsonObject): readonly Finding[] {
  const { field, texts } = rangesOf(service)
  const wrong = texts === undefined ? undefined : problemOf(texts, service)
  if (wrong === undefined) return []
  return [
    {
      check: sourceRanges.name,
      symptom: 'External access fails',
      object: `service/${keyOf(service)}`,
      affects: [],
      cause: `${field} ${wrong}`,
      evidence: [`${field} is ${quote((texts ?? []).join(','))}`],
      remedy: 'write the networks of the clients, such as 192.0.2.0/24, or remove the field',
      commands: [`orchctl -n ${namespaceOf(service)} edit service/${nameOf(service)}`],
    },
  ]
}

interface Ranges {
  readonly field: string
  /** Undefined: every client is admitted. */
  readonly texts: readonly string[] | undefined
}

/** The field, else the first annotation that is not blank. */
function rangesOf(service: JsonObject): Ranges {
  const field = arrayAt(service, 'spec', 'loadBalancerSourceRanges').map(scalarText)
  if (field.length > 0) return { field: 'loadBalancerSourceRanges', texts: field }
  for (const key of NAMES.sourceRanges) {
    const text = stringAt(service, 'metadata', 'annotations', key).trim()
    if (text !== '') return { field: key, texts: text.split(',').map((one) => one.trim()) }
  }
  return { field: '', texts: undefined }
}

function problemOf(texts: readonly string[], service: JsonObject): string | undefined {
  const ranges = texts.flatMap((text) => parseCidr(text) ?? [])
  if (ranges.length === 0) return 'has no range that can be read: no client is admitted'
  const open = ranges.filter((range) => !range.startsWith('127.') && range !== '::1/128')
  if (open.length === 0) return 'has loopback addresses alone: no client is admitted'
  const families = arrayAt(service, 'spec', 'ipFamilies').map(scalarText)
  const missing = families.filter(
    (family) => !open.some((range) => `IPv${familyOf(range)}` === family),
  )
  if (missing.length === 0 || missing.length < families.length) return undefined
  return `has no range of ${missing.join(', ')}, the family of the Service: no client is admitted`
}

interface Reason {
  readonly why: string
  readonly remedy: string
}

function unknownReason(message: string): Reason {
  const why = 'its status has no address'
  const remedy =
    message === ''
      ? 'run a controller of load balancers (orch-server has one: --load-balancer-pool), or use a node port'
      : 'correct what its controller reports'
  return { why, remedy }
}

function isPending(service: JsonObject): boolean {
  const ingress = arrayAt(service, 'status', 'loadBalancer', 'ingress')
  const isBalanced = stringAt(service, 'spec', 'type') === 'LoadBalancer'
  // externalIPs reach it without a load balancer.
  return isBalanced && ingress.length === 0 && arrayAt(service, 'spec', 'externalIPs').length === 0
}

type BindingKind = keyof typeof SINGULAR

function missingRole(
  kind: BindingKind,
  binding: JsonObject,
  evidence: ClusterEvidence,
): readonly Finding[] {
  const role = stringAt(binding, 'roleRef', 'name')
  const isCluster = stringAt(binding, 'roleRef', 'kind') === 'ClusterRole'
  const roles: EvidenceKind = isCluster ? 'clusterroles' : 'roles'
  const key = isCluster ? role : `${namespaceOf(binding)}/${role}`
  if (!evidence.has(roles) || evidence.exists(roles, key)) return []
  return [
    {
      ...head(kind, binding),
      cause: `it names the ${isCluster ? 'ClusterRole' : 'Role'} ${key}, which does not exist`,
      evidence: [`accounts that get nothing by it: ${accountsOf(binding).join(', ') || 'none'}`],
      remedy:
        'create the role; the roleRef of a binding cannot be changed, so a wrong name needs a new binding',
      commands: [`orchctl get ${roles}${isCluster ? '' : ` -n ${namespaceOf(binding)}`}`],
    },
  ]
}

function missingAccounts(
  kind: BindingKind,
  binding: JsonObject,
  evidence: ClusterEvidence,
): readonly Finding[] {
  if (!evidence.has('serviceaccounts')) return []
  // Those that a server makes itself may be for accounts that come later, or never.
  if (labelsOf(binding)[BOOTSTRAPPING] !== undefined) return []
  const isMissing = (key: string): boolean => {
    const [namespace = ''] = key.split('/')
    return evidence.covers(namespace) && !evidence.exists('serviceaccounts', key)
  }
  const missing = accountsOf(binding).filter(isMissing)
  if (missing.length === 0 || missing.length < accountsOf(binding).length) return []
  const names = new Set(missing.map((key) => key.split('/')[1]))
  const elsewhere = evidence
    .all('serviceaccounts')
    .map(keyOf)
    .filter((key) => names.has(key.split('/')[1]))
  return [
    {
      ...head(kind, binding),
      cause: `it is for ${missing.join(', ')}, and there is no such ServiceAccount`,
      evidence: elsewhere.slice(0, 3).map((key) => `there is ${key}, in another namespace`),
      remedy: 'correct name and namespace of the subject, or create the account',
      commands: [`orchctl get serviceaccounts -A`],
    },
  ]
}

function head(kind: BindingKind, binding: JsonObject) {
  return {
    check: brokenBinding.name,
    symptom: 'Permission denied',
    object: `${SINGULAR[kind]}/${keyOf(binding)}`,
    affects: accountsOf(binding).map((key) => `serviceaccount/${key}`),
  } as const
}
