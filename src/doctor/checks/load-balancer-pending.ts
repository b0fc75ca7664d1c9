import { familyOf, parseCidr } from '../../lib/ip.ts'
import { arrayAt, type JsonObject, scalarText, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { LOAD_BALANCER_CONDITION } from '../../resources/label-names.ts'
import { NAMES } from '../../resources/names.ts'
import { checkOfEach } from '../evidence/finding.ts'
import { conditionOf, nameOf, namespaceOf } from '../evidence/objects.ts'

/** A Service of type LoadBalancer without the addresses that it requests: it cannot have them, or nothing assigns any. */
export const loadBalancerPending = checkOfEach('services', 'load-balancer-pending', (service) => {
  const condition = conditionOf(service, LOAD_BALANCER_CONDITION)
  const ingress = arrayAt(service, 'status', 'loadBalancer', 'ingress').map((one) =>
    stringAt(one, 'ip'),
  )
  if (!isPending(service, ingress.length > 0 && stringAt(condition, 'status') !== 'False'))
    return []
  const message = stringAt(condition, 'message')
  const { why, remedy } = REASONS.get(stringAt(condition, 'reason')) ?? unknownReason(message)
  const loadBalancerClass = stringAt(service, 'spec', 'loadBalancerClass')
  const kept = ingress.length === 0 ? '' : ` with the address ${ingress.join(', ')}`
  return [
    {
      symptom: 'External access fails',
      cause: `it is of type LoadBalancer${kept}, and ${why}`,
      evidence: [
        message === '' ? 'no controller has reported on it' : message,
        ...(loadBalancerClass === '' ? [] : [`its loadBalancerClass is ${loadBalancerClass}`]),
      ],
      remedy,
      commands: [`orchctl -n ${namespaceOf(service)} describe service ${nameOf(service)}`],
    },
  ]
})

interface Reason {
  readonly why: string
  readonly remedy: string
}

const REQUEST = `spec.loadBalancerIP or the annotation ${NAMES.loadBalancerIPs[0]}`
const POOL = `the annotation ${NAMES.loadBalancerPool[0]}`
const POOLS = 'loadBalancer.addressPools of orch-server'

/** By the reason of the condition that orch-server writes: why, and what to do. */
const REASONS: ReadonlyMap<string, Reason> = new Map(
  Object.entries({
    PoolExhausted: [
      'no pool has an address left for it',
      'delete a Service that has one, or add addresses to the pools (--load-balancer-pool)',
    ],
    AddressInUse: [
      'the address that it requests belongs to another Service',
      `request a free address, or none, by ${REQUEST}`,
    ],
    AddressNotInPool: [
      'the address that it requests is in no pool, or not in the one that it chooses',
      `request an address of a pool, or none, by ${REQUEST}`,
    ],
    AddressNotUsable: ['what it requests is no address', `correct or remove ${REQUEST}`],
    FamilyMismatch: [
      'the address that it requests is of another IP family',
      `correct ${REQUEST}, or spec.ipFamilies`,
    ],
    FamilyNotInPools: [
      'no pool has addresses of its IP family',
      `add some to ${POOLS}, or change spec.ipFamilies`,
    ],
    NoPool: ['no pool is for it', `choose one by ${POOL}, or permit it in ${POOLS}`],
    PoolNotFound: ['the pool that it chooses is not there', `correct or remove ${POOL}`],
    PoolNotPermitted: [
      'the pool that it requests is not for it',
      `correct ${POOL} or ${REQUEST}, or permit it in ${POOLS}`,
    ],
    SharingRefused: [
      'the address that it would share cannot be shared',
      `change what the condition names, or the annotation ${NAMES.sharingKey[0]}`,
    ],
  }).map(([reason, [why = '', remedy = '']]) => [reason, { why, remedy }]),
)

function unknownReason(message: string): Reason {
  const why = 'its status has no address'
  const remedy =
    message === ''
      ? 'run a controller of load balancers (orch-server has one: --load-balancer-pool), or use a node port'
      : 'correct what its controller reports'
  return { why, remedy }
}

function isPending(service: JsonObject, hasAddresses: boolean): boolean {
  const isBalanced = stringAt(service, 'spec', 'type') === 'LoadBalancer'
  // externalIPs reach it without a load balancer.
  return isBalanced && !hasAddresses && arrayAt(service, 'spec', 'externalIPs').length === 0
}

/** Source ranges that admit no client: they cannot be parsed, are loopback addresses, or are of the other family. */
export const sourceRanges = checkOfEach('services', 'source-ranges', (service) => {
  if (stringAt(service, 'spec', 'type') !== 'LoadBalancer') return []
  const { field, texts } = rangesOf(service)
  const wrong = texts === undefined ? undefined : rangesProblem(texts, service)
  if (wrong === undefined) return []
  return [
    {
      symptom: 'External access fails',
      cause: `${field} ${wrong}`,
      evidence: [`${field} is ${quote((texts ?? []).join(','))}`],
      remedy: 'write the networks of the clients, such as 192.0.2.0/24, or remove the field',
      commands: [`orchctl -n ${namespaceOf(service)} edit service/${nameOf(service)}`],
    },
  ]
})

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

function rangesProblem(texts: readonly string[], service: JsonObject): string | undefined {
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
