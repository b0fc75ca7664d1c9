import { arrayAt, type JsonObject, stringAt } from '../../lib/json.ts'
import { LOAD_BALANCER_CONDITION } from '../../resources/label-names.ts'
import { NAMES } from '../../resources/names.ts'
import { checkOfEach } from '../evidence/finding.ts'
import { conditionOf, nameOf, namespaceOf } from '../evidence/objects.ts'

/** A Service of type LoadBalancer without the addresses that it requests: it cannot have them, or nothing assigns any. */
export const loadBalancerPending = checkOfEach('services', 'load-balancer-pending', (service) => {
  if (!needsLoadBalancer(service)) return []
  const condition = conditionOf(service, LOAD_BALANCER_CONDITION)
  const isRefused = stringAt(condition, 'status') === 'False'
  const addresses = arrayAt(service, 'status', 'loadBalancer', 'ingress').map((one) =>
    stringAt(one, 'ip'),
  )
  if (addresses.length > 0 && !isRefused) return []
  const message = stringAt(condition, 'message')
  const { why, remedy } = REASONS.get(stringAt(condition, 'reason')) ?? unknownReason(message)
  const loadBalancerClass = stringAt(service, 'spec', 'loadBalancerClass')
  const kept = addresses.length === 0 ? '' : ` with the address ${addresses.join(', ')}`
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

/** Whether it is of type LoadBalancer and has no externalIPs, which reach it without a load balancer. */
function needsLoadBalancer(service: JsonObject): boolean {
  const isBalanced = stringAt(service, 'spec', 'type') === 'LoadBalancer'
  return isBalanced && arrayAt(service, 'spec', 'externalIPs').length === 0
}
