import { hostPort } from '../../../lib/ip.ts'
import type { EndJudgement } from '../../../networkpolicy/judge-connection.ts'
import type { PolicyJudgement } from './judge-policies.ts'

const HEAD = 'NetworkPolicies (node-proxy enforces none; the network of the Pods may):'

/** What NetworkPolicies say of the connections to backends, for people; undefined: not known. */
export function policyLines(
  judgements: readonly PolicyJudgement[] | undefined,
  maxShown: number,
): readonly string[] {
  if (judgements === undefined) return [HEAD, '  not known']
  if (judgements.length === 0) return [HEAD, '  not judged: no backend is known']
  const concerned = judgements.filter((one) => policiesOf(one) > 0)
  if (concerned.length === 0)
    return [HEAD, '  none selects the source for egress, or a backend for ingress']
  // Connections that are not admitted come first.
  const sorted = concerned.toSorted((a, b) => Number(a.isAdmitted) - Number(b.isAdmitted))
  const rest = sorted.length - maxShown
  return [
    HEAD,
    ...sorted.slice(0, maxShown).flatMap(judgementLines),
    ...(rest > 0 ? [`  and ${rest} more`] : []),
  ]
}

function policiesOf({ egress, ingress }: PolicyJudgement): number {
  return (egress?.policies.length ?? 0) + (ingress?.policies.length ?? 0)
}

function judgementLines(judgement: PolicyJudgement): readonly string[] {
  const { ip, port, isAdmitted, seen, egress, ingress } = judgement
  const as = seen === undefined ? '' : `, which sees ${seen},`
  const verdict = isAdmitted ? 'admitted' : 'not admitted'
  return [
    `  by these objects the connection to ${hostPort(ip, port)}${as} is ${verdict}`,
    ...[egress, ingress].flatMap((one) => (one === undefined ? [] : [`    ${endText(one)}`])),
  ]
}

/** `ingress of pod shop/web-1: admitted by shop/allow, rule ingress[0]`. */
function endText({
  direction,
  pod,
  policies,
  isAdmitted,
  admittedBy,
  exempt,
}: EndJudgement): string {
  const head = `${direction} of pod ${pod}:`
  if (policies.length === 0) return `${head} admitted: no policy selects it`
  if (exempt === 'itself') return `${head} admitted: a Pod reaches itself`
  if (exempt === 'ownNode') return `${head} admitted: a node and its own Pods reach each other`
  const selecting = policies.join(', ')
  if (!isAdmitted || admittedBy === undefined)
    return `${head} not admitted: selected by ${selecting}, no rule admits it`
  const { policy, rule, isByPodAddress } = admittedBy
  const doubt = isByPodAddress
    ? ' (an ipBlock with the address of a Pod, which some networks ignore)'
    : ''
  return `${head} admitted by ${policy}, rule ${direction}[${rule}]${doubt}`
}
