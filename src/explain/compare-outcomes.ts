import { hostPort } from '../lib/ip.ts'
import type { Endpoint } from './packet/packet-state.ts'
import type { WalkOutcome } from './walk/walk-outcome.ts'

/** The outcome that the forwarding table of node-proxy requires for the packet. */
export interface Expectation {
  /** `unhandled`: no Service claims the packet, so that rules of node-proxy must not touch it. */
  readonly outcome: 'deliver' | 'reject' | 'drop' | 'unhandled'
  /**
   * Whether no Service has this address and port; a refusal then does not apply to what other programs translate or
   * own.
   */
  readonly isUnclaimed: boolean
  readonly backends: readonly (Endpoint & { readonly weight: number })[]
  /** Whether backends see an address of this node; `toItself`: only if the backend is the client. */
  readonly masquerade: 'yes' | 'no' | 'toItself' | undefined
  /** Clients keep their backend, so only one of the backends may be observed. */
  readonly hasAffinity: boolean
  /** Ports at which node-proxy listens to forward packets itself; the kernel's part ends there. */
  readonly ownPorts: ReadonlySet<number>
  /** Destinations to which NetworkPolicies admit nothing; undefined if that is not known. */
  readonly refusals: readonly Endpoint[] | undefined
}

type Delivered = Extract<WalkOutcome, { readonly kind: 'delivered' }>

/** What the sender observes for each expected outcome. */
const KINDS = { reject: 'refused', drop: 'silent', deliver: 'delivered' } as const

/** The tolerated difference between the share of a backend and its weight, because kernels round. */
const TOLERANCE = 0.02

/** The packet whose outcomes are compared. */
export interface Compared {
  /** Undefined if the kernel chooses it; then a changed source cannot be noticed. */
  readonly src: string | undefined
  /**
   * Whether `src` is an address of this node: masquerading may then choose the same address, which cannot be noticed.
   */
  readonly isOwnSource: boolean
  readonly dst: string
  readonly port: number
}

/** The differences between the kernel and the forwarding table, one sentence each. */
export function compareOutcomes(
  packet: Compared,
  expected: Expectation,
  observed: readonly WalkOutcome[],
): readonly string[] {
  const differences = observed.flatMap((one) => differenceOf(packet, expected, one))
  if (expected.outcome !== 'deliver') return differences
  const delivered = observed.filter(isDelivered)
  if (delivered.some((one) => isOwn(expected, one))) return differences
  const reached = observed.flatMap((one) => destinationOf(one) ?? [])
  return [...differences, ...missing(expected, reached), ...unevenness(expected, delivered)]
}

function isDelivered(outcome: WalkOutcome): outcome is Delivered {
  return outcome.kind === 'delivered'
}

/** Where the packet arrives, or would arrive but for NetworkPolicies. */
function destinationOf(outcome: WalkOutcome): Endpoint | undefined {
  if (outcome.kind === 'delivered') return outcome.dst
  return outcome.kind === 'silent' ? outcome.refusedTo : undefined
}

function isAmong(endpoints: readonly Endpoint[], { ip, port }: Endpoint): boolean {
  return endpoints.some((one) => one.ip === ip && one.port === port)
}

/**
 * Whether the packet reached a socket of node-proxy, which forwards it to a backend of the table: in userspace mode,
 * and in ipvs mode for node ports on loopback addresses, where node-proxy listens at the node port itself.
 */
function isOwn({ ownPorts }: Expectation, { to, dst }: Delivered): boolean {
  if (to !== 'local' || dst.port === undefined) return false
  return ownPorts.has(dst.port) || dst.ip.startsWith('127.')
}

function differenceOf(
  packet: Compared,
  expected: Expectation,
  outcome: WalkOutcome,
): readonly string[] {
  if (outcome.kind === 'uncertain') return [`what happens is not known: ${outcome.reason}`]
  const judged = judgedOtherwise(expected, outcome)
  if (judged !== undefined) return judged
  if (expected.outcome === 'unhandled') return touched(packet, outcome)
  if (expected.outcome === 'reject' && expected.isUnclaimed && isOfOthers(packet, outcome))
    return []
  if (outcome.kind !== KINDS[expected.outcome]) {
    return [`expected ${worded(KINDS[expected.outcome])}, but ${observedWords(outcome)}`]
  }
  return outcome.kind === 'delivered' && !isOwn(expected, outcome)
    ? wrongDelivery(packet, expected, outcome)
    : []
}

/** The differences in what NetworkPolicies decide; undefined if they leave the packet to the Services. */
function judgedOtherwise(
  { refusals }: Expectation,
  outcome: WalkOutcome,
): readonly string[] | undefined {
  const destination = destinationOf(outcome)
  if (destination === undefined || (refusals === undefined && outcome.kind === 'delivered')) {
    return undefined
  }
  const isRefused = refusals === undefined || isAmong(refusals, destination)
  if (outcome.kind === 'silent') {
    return isRefused ? [] : [`NetworkPolicies admit the connection, but ${observedWords(outcome)}`]
  }
  return isRefused ? [`NetworkPolicies refuse it, but ${observedWords(outcome)}`] : undefined
}

/**
 * The differences for a packet of no Service: other programs may refuse or drop it, which does not concern node-proxy.
 */
function touched({ dst, port }: Compared, outcome: WalkOutcome): readonly string[] {
  if (outcome.kind !== 'delivered') return []
  const isSame = outcome.dst.ip === dst && outcome.dst.port === port
  return isSame ? [] : [`no Service claims the packet, but ${observedWords(outcome)}`]
}

/** Whether another Service proxy translated the packet, or an interface of this node has its address. */
function isOfOthers({ dst, port }: Compared, outcome: WalkOutcome): boolean {
  if (outcome.kind !== 'delivered') return false
  return outcome.to === 'local' || outcome.dst.ip !== dst || outcome.dst.port !== port
}

function wrongDelivery(
  { src, isOwnSource }: Compared,
  { backends, masquerade }: Expectation,
  outcome: Delivered,
): readonly string[] {
  const at = named(outcome)
  if (!isAmong(backends, outcome.dst))
    return [`${at} is not a backend of the Service, but gets the packet`]
  if (src === undefined) return []
  const wanted = masquerade === 'toItself' ? outcome.dst.ip === src : masquerade === 'yes'
  const isMasqueraded = outcome.src !== src
  if (wanted === isMasqueraded || (wanted && isOwnSource)) return []
  return wanted
    ? [`${at} sees the client ${src}, but should see an address of this node`]
    : [`${at} sees ${outcome.src}, but should see the client ${src}`]
}

function missing({ backends, hasAffinity }: Expectation, reached: readonly Endpoint[]) {
  const isKept = hasAffinity && reached.length === 1
  if (isKept || reached.length === 0) return []
  return backends
    .filter((one) => one.weight > 0 && !isAmong(reached, one))
    .map(({ ip, port }) => `the backend ${hostPort(ip, port ?? 0)} never gets a packet`)
}

function unevenness({ backends, hasAffinity }: Expectation, delivered: readonly Delivered[]) {
  const total = backends.reduce((sum, { weight }) => sum + weight, 0)
  if (hasAffinity && delivered.length === 1) return []
  return delivered.flatMap((one) => {
    const backend = backends.find(({ ip, port }) => one.dst.ip === ip && one.dst.port === port)
    if (backend === undefined || total === 0) return []
    const share = backend.weight / total
    if (Math.abs(one.probability - share) <= TOLERANCE) return []
    return [
      `the backend ${named(one)} gets ${percent(one.probability)} of connections instead of ${percent(share)}`,
    ]
  })
}

/** A probability for people. */
export function percent(probability: number): string {
  const value = probability * 100
  return `${value >= 10 || value === 0 ? Math.round(value) : Number(value.toPrecision(2))} %`
}

function named({ dst }: Delivered): string {
  return endpointText(dst)
}

function endpointText({ ip, port }: Endpoint): string {
  return hostPort(ip, port ?? 0)
}

function worded(kind: 'refused' | 'silent' | 'delivered'): string {
  return { refused: 'a refusal', silent: 'silence', delivered: 'delivery to a backend' }[kind]
}

/** What happens to a packet, as a clause. */
export function observedWords(outcome: WalkOutcome): string {
  switch (outcome.kind) {
    case 'delivered':
      return `${named(outcome)} gets it, from ${outcome.src}`
    case 'refused':
      return `it is refused (${outcome.how})${byWhich(outcome)}`
    case 'silent': {
      const { refusedTo, by } = outcome
      const why = refusedTo ? `NetworkPolicies refuse it to ${endpointText(refusedTo)}: ${by}` : by
      return `it gets no answer: ${why}${byWhich(outcome)}`
    }
    case 'uncertain':
      return `what happens is not known: ${outcome.reason}`
  }
}

/** The rule, element or server that decided last. */
function byWhich({ steps }: WalkOutcome): string {
  const object = steps.at(-1)?.object
  return object === undefined ? '' : ` (${object})`
}
