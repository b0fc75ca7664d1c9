import { arrayAt, type Json, type JsonObject, scalarText, valueAt } from '../../lib/json.ts'
import {
  type ReadClusterPolicy,
  readClusterPolicy,
} from '../../networkpolicy/read-cluster-policy.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import { type Check, type Finding, SHOWN, sameOfServices, shortList } from '../evidence/finding.ts'
import { type InspectedObject, isInspected } from '../evidence/inspected-object.ts'
import { type Attempt, ClientJudge, type Decision } from '../evidence/judge-clients.ts'
import { keyOf, nameOf } from '../evidence/objects.ts'

/**
 * ClusterNetworkPolicies that deny every Pod a port of a Service; of the inspected Service also those that deny some
 * Pods, which may be meant so. A rule that is closed because it cannot be read is the finding of another check.
 */
export const clusterNetworkPolicy: Check = {
  name: 'cluster-network-policy',
  find: (evidence, inspected) => {
    const denials = denialsOf(evidence, inspected).filter((one) => !isClosed(one))
    const byPolicy = Map.groupBy(denials, ({ decision }) => decision.policy)
    return [...byPolicy.values()].flatMap(denialFinding)
  },
}

/** Parts of ClusterNetworkPolicies that cannot be read, and what holds until they are corrected. */
export const unreadableClusterPolicy: Check = {
  name: 'unreadable-cluster-policy',
  find: (evidence, inspected) => {
    const policies = evidence.all('clusternetworkpolicies').map(readClusterPolicy)
    const unreadable = policies.filter(({ problems }) => problems.length > 0)
    if (unreadable.length === 0) return []
    const closed = denialsOf(evidence, inspected).filter(isClosed)
    return unreadable.map((one) => unreadableFinding(one, closed))
  },
}

/** A port of a Service that a rule of a ClusterNetworkPolicy denies to all Pods, or to some. */
interface Denial {
  readonly service: JsonObject
  readonly port: Json
  readonly read: ReadClusterPolicy
  readonly decision: Decision
  /** The connections that this rule denies; at least one. */
  readonly denied: readonly [Attempt, ...Attempt[]]
  /** All connections of Pods that were judged. */
  readonly attempts: readonly Attempt[]
}

/** At most one for each Service. */
function denialsOf(
  evidence: ClusterEvidence,
  inspected: InspectedObject | undefined,
): readonly Denial[] {
  if (!ClientJudge.isUseful(evidence)) return []
  const judge = new ClientJudge(evidence)
  return evidence.all('services').flatMap((service) => {
    const mayBePartial = isInspected('service', service, inspected)
    const ports = arrayAt(service, 'spec', 'ports')
    const all = ports.flatMap((port) => denialOf(service, port, { judge, mayBePartial }) ?? [])
    return all.slice(0, 1)
  })
}

function denialOf(
  service: JsonObject,
  port: Json,
  { judge, mayBePartial }: { readonly judge: ClientJudge; readonly mayBePartial: boolean },
): Denial | undefined {
  if (!mayBePartial && judge.attempts(service, port).some((one) => one.isAdmitted)) return undefined
  const attempts = judge.attempts(service, port).toArray()
  const isPartial = attempts.some(({ isAdmitted }) => isAdmitted)
  const denied = attempts.filter(({ isAdmitted, decision }) => !isAdmitted && decision)
  const isCause =
    attempts.every((one) => one.isAdmitted || one.decision) ||
    denied.some(
      (one) => one.judgedBy((policy) => ('tier' in policy ? undefined : policy)).isAdmitted,
    )
  const byRule = Map.groupBy(denied, ({ decision }) => decision && ruleKey(decision))
  const [first, ...more] = [...byRule.values()].toSorted((a, b) => countOf(b) - countOf(a))[0] ?? []
  const decision = first?.decision
  const read = judge.clusterPolicies.find(({ policy }) => policy.key === decision?.policy)
  if (!isCause || first === undefined || decision === undefined || read === undefined) {
    return undefined
  }
  const isOfNoPod = countOf([first, ...more]) === 0
  if (isPartial && isOfNoPod) return undefined
  return { service, port, read, decision, denied: [first, ...more], attempts }
}

/** Whether the rule that denies is one with a part that cannot be read. */
function isClosed({ read, decision: { direction, rule } }: Denial): boolean {
  const fields = ['spec.tier', 'spec.priority', `spec.${direction}[${rule}]`]
  return read.problems.some(({ field }) => fields.some((one) => field.startsWith(one)))
}

function denialFinding(denials: readonly Denial[]): readonly Finding[] {
  const [first] = denials
  if (first === undefined) return []
  const { service, port, read, decision, denied, attempts } = first
  const { policy } = read
  const number = scalarText(valueAt(port, 'port'))
  const isPartial = attempts.some(({ isAdmitted }) => isAdmitted)
  const whom = isPartial ? `${countOf(denied)} of ${countOf(attempts)} Pods` : 'every Pod'
  const next = withoutRule(first)
  const [attempt] = denied
  return [
    {
      check: clusterNetworkPolicy.name,
      symptom: 'Service not reachable',
      object: nameOfPolicy(policy.key),
      affects: affected(denials),
      cause: `the ClusterNetworkPolicy ${policy.key} (tier ${policy.tier}, priority ${policy.priority}) denies ${whom} the port ${number} of service/${nameOf(service)}, by its rule ${ruleText(decision)}`,
      evidence: [
        subjectText(first),
        ...(isPartial || countOf(denied) > 0 ? [clientsText(denied, attempts)] : []),
        ...next.evidence,
        ...sameOf(denials),
      ],
      remedy: next.remedy ?? missingRule(first),
      commands: [
        `orchctl get ${nameOfPolicy(policy.key)} -o yaml`,
        `orchctl edit ${nameOfPolicy(policy.key)}`,
        ...attempt.clients
          .slice(0, 1)
          .map((client) => `orchctl explain pod/${client} service/${keyOf(service)}:${number}`),
      ],
    },
  ]
}

function subjectText({ decision, denied: [{ backend, port, clients }] }: Denial): string {
  const to = `the port leads to port ${port} of the Pod`
  if (decision.direction === 'ingress') return `pod/${keyOf(backend)} is a subject of it; ${to}`
  const [client] = clients
  const subject = client === undefined ? 'every client' : `pod/${client}`
  return `${subject} is a subject of it, for egress; ${to} pod/${keyOf(backend)}`
}

function clientsText(denied: readonly Attempt[], attempts: readonly Attempt[]): string {
  const names = [...new Set(denied.flatMap(({ clients }) => clients))]
  const shown = shortList(names.map((one) => `pod/${one}`))
  return `of ${countOf(attempts)} Pods that were judged, the rule denies ${names.length}: ${shown}`
}

/** What would decide if the rule did not match; a remedy if a rule that comes later accepts. */
function withoutRule({ read, decision, denied }: Denial): {
  readonly evidence: readonly string[]
  readonly remedy?: string
} {
  const { policy } = read
  const { direction, rule } = decision
  const rules = policy.rules[direction].map((one, at) =>
    at === rule ? ({ ...one, action: 'Accept', peers: [] } as const) : one,
  )
  const opened = { ...policy, rules: { ...policy.rules, [direction]: rules } }
  const outcomes = denied.map((one) =>
    one.judgedBy((other) => ('tier' in other && other.key === policy.key ? opened : other)),
  )
  const accepting = outcomes.find((one) => one.decision?.action === 'Accept')?.decision
  if (accepting !== undefined) {
    const isOwn = accepting.policy === policy.key
    const name = `rule ${ruleText(accepting)}${isOwn ? '' : ` of ${nameOfPolicy(accepting.policy)}`}`
    const evidence = [`the ${name} accepts such a connection, and comes later`]
    if (isOwn) return { evidence, remedy: `move its ${name} before ${ruleText(decision)}` }
    if (accepting.tier !== policy.tier) return { evidence }
    const remedy = `give ${nameOfPolicy(accepting.policy)} a lower priority than ${policy.priority}, so that it is judged first`
    return { evidence, remedy }
  }
  const admitted = outcomes.find((one) => one.isAdmitted)
  if (admitted?.admittedBy !== undefined) {
    return {
      evidence: [
        `networkpolicy/${admitted.admittedBy} admits such a connection, and is judged later`,
      ],
    }
  }
  const next = outcomes.find((one) => one.decision !== undefined)?.decision
  if (admitted !== undefined || next === undefined) return { evidence: [] }
  return {
    evidence: [
      `the rule ${ruleText(next)} of ${nameOfPolicy(next.policy)} denies such connections, too`,
    ],
  }
}

function missingRule({ read: { policy }, decision, denied: [{ port }] }: Denial): string {
  const before = `before ${ruleText(decision)}`
  const accept = `a rule of Accept for the clients and port ${port} of the Pod ${before}`
  return policy.tier === 'Admin'
    ? `add ${accept}, or one of Pass, which leaves the decision to the NetworkPolicies`
    : `add ${accept}; or a NetworkPolicy that admits the clients, which decides in place of the tier Baseline`
}

function unreadableFinding(
  { policy, problems }: ReadClusterPolicy,
  closed: readonly Denial[],
): Finding {
  const [first, ...more] = problems
  const own = closed.filter(({ decision }) => decision.policy === policy.key)
  const text = ({ field, value, message }: (typeof problems)[number]) =>
    `${field} is ${value}: it ${message}`
  const object = nameOfPolicy(policy.key)
  return {
    check: unreadableClusterPolicy.name,
    symptom: own.length > 0 ? 'Service not reachable' : 'NetworkPolicies have no effect',
    object,
    affects: affected(own),
    cause: `a part of the ClusterNetworkPolicy ${policy.key} cannot be read: ${first === undefined ? '' : text(first)}`,
    evidence: [
      ...more.slice(0, SHOWN).map(text),
      ...own.slice(0, 1).map(({ service, decision }) => {
        return `its rule ${ruleText(decision)} denies connections to service/${keyOf(service)}`
      }),
      ...sameOf(own),
    ],
    remedy: 'correct the field',
    commands: [`orchctl get ${object} -o yaml`, `orchctl edit ${object}`],
  }
}

function affected(denials: readonly Denial[]): readonly string[] {
  const all = denials.flatMap(({ service, denied }) => [
    `service/${keyOf(service)}`,
    ...denied.map(({ backend }) => `pod/${keyOf(backend)}`),
  ])
  return [...new Set(all)]
}

function sameOf(denials: readonly Denial[]): readonly string[] {
  if (denials.length < 2) return []
  return [sameOfServices(denials.map(({ service }) => `service/${keyOf(service)}`))]
}

function countOf(attempts: readonly Attempt[]): number {
  return new Set(attempts.flatMap(({ clients }) => clients)).size
}

function ruleKey({ policy, direction, rule }: Decision): string {
  return `${policy} ${direction} ${rule}`
}

/** `ingress[1] "no-carts"` */
function ruleText({ direction, rule, name }: Decision): string {
  return `${direction}[${rule}]${name === '' ? '' : ` "${name}"`}`
}

function nameOfPolicy(key: string): string {
  return `clusternetworkpolicy/${key}`
}
