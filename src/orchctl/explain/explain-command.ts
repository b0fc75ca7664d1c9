import type { Command } from 'commander'
import { hostPort } from '../../lib/ip.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import type { EndJudgement } from '../../networkpolicy/judge-connection.ts'
import { addNodeFlags, type NodeFlags } from '../nodes/node-flags.ts'
import { readNodes } from '../nodes/read-nodes.ts'
import { jsonText } from '../output/documents.ts'
import { formatAmong } from '../output/output-format.ts'
import { severalLines } from '../output/terminal-text.ts'
import { type CommandContext, type Run, runs } from '../session/command-module.ts'
import { usageError } from '../usage/exit-code.ts'
import {
  type ClusterFacts,
  clusterFacts,
  type NamedBackend,
  type NamedEnd,
} from './cluster-facts.ts'
import { clusterReader } from './cluster-reader.ts'
import { connectionQuery } from './connection-query.ts'
import type { PolicyJudgement } from './judge-policies.ts'

/** The most backends, and the most left-out endpoints, that the text shows. */
const MAX_SHOWN = 10

const ABOUT = `
The node on which the connection begins explains it; that of a client outside is the one
that has the destination, or --node. Its node-proxy must serve remote inspection.

Exit codes:
  0  the connection is established, as node-proxy wants it
  1  it is not, or the kernel does not do what node-proxy wants; or that is not known
  3  the node cannot be reached

Examples:
  orchctl explain pod/shop-1 service/web:http
  orchctl explain pod/shop/shop-1 10.96.0.10:80
  orchctl explain 203.0.113.7 node/node-7:30080
  orchctl explain 203.0.113.7 192.0.2.200:80 --node node-7
`

/** In milliseconds; longer than a command of node-proxy may take on its node. */
const TIMEOUT_MS = 65_000

interface ExplainFlags extends NodeFlags {
  readonly protocol: string
  readonly interface?: string
  readonly node?: string
  readonly output: string
}

/** `orchctl explain SOURCE DESTINATION`. */
export function define(command: Command, context: CommandContext): void {
  command
    .argument('<source>', 'pod/NAME, node/NAME, or an address')
    .argument('<destination>', 'service/NAME[:PORT], pod/NAME:PORT, node/NAME:PORT, ADDRESS:PORT')
    .option('-p, --protocol <protocol>', 'tcp, udp or sctp', 'tcp')
    .option('--interface <name>', 'interface by which the packet arrives at the node')
    .option('--node <name>', 'the node that explains the connection')
    .option('-o, --output <format>', 'text or json', 'text')
    .addHelpText('after', ABOUT)
  runs<ExplainFlags>(addNodeFlags(command), context, explain)
}

const explain: Run<ExplainFlags> = async (
  [source = '', destination = '', ...more],
  flags,
  context,
) => {
  if (more.length > 0) throw usageError('there are more than two operands')
  const { output } = flags
  formatAmong(output, 'text', 'json')
  const { api, namespace } = await context.session()
  const written = { source, destination, node: flags.node, namespace }
  const reader = clusterReader(api)
  const query = await connectionQuery(written, reader)
  const document = await explanationOf(query, flags, context)
  const facts = await clusterFacts(query, document, reader)
  const node = stringAt(query.node, 'metadata', 'name')
  const isTerminal = context.host.stdout.isTTY === true
  const text = factsText(facts)
  const cluster = { ...facts, text }
  context.print(
    output === 'json'
      ? jsonText({ node, ...document, cluster } as never, { isTerminal })
      : severalLines(`On node ${node}: ${stringAt(document, 'text')}\n${text}`),
  )
  return document['isWell'] === true ? 0 : 1
}

async function explanationOf(
  { node, source, destination }: Awaited<ReturnType<typeof connectionQuery>>,
  flags: ExplainFlags,
  context: CommandContext,
): Promise<JsonObject> {
  const { protocol, interface: inInterface } = flags
  const packet = { source, destination, protocol }
  const [answer] = await readNodes([node], context, {
    ...flags,
    path: '/inspection/v1/explain',
    query: inInterface === undefined ? packet : { ...packet, interface: inInterface },
    timeoutMs: TIMEOUT_MS,
  })
  const result = answer!.result
  if (!result.ok) throw result.error
  return result.body
}

/** What objects of the API say about a connection, as text. */
function factsText({
  source,
  service,
  backends,
  leftOut,
  networkPolicies,
  unread,
}: ClusterFacts): string {
  const from = source.ip ?? 'a process of the node'
  return [
    'The cluster:',
    `  source    ${from}${namesText(source)}`,
    ...(service === undefined ? [] : [`  service   ${serviceText(service)}`]),
    ...shown(backends, (one) => `  backend   ${endText(one)}`),
    ...shown(leftOut, (one) => `  left out  ${endText(one)}: ${one.text}`),
    '',
    ...policyLines(networkPolicies, MAX_SHOWN),
    ...(unread.length === 0 ? [] : ['']),
    ...unread.map((one) => `Not read: ${one}`),
    '',
  ].join('\n')
}

function shown<T>(all: readonly T[], text: (one: T) => string): readonly string[] {
  const rest = all.length - MAX_SHOWN
  return [
    ...all.slice(0, MAX_SHOWN).map(text),
    ...(rest > 0 ? [`            and ${rest} more`] : []),
  ]
}

function endText(end: NamedBackend): string {
  return `${hostPort(end.ip, end.port)}${namesText(end)}`
}

/** `, pod shop/web-1, node node-7, zone a` */
function namesText({ pod, node, zone }: Omit<NamedEnd, 'ip'>): string {
  const named = Object.entries({ pod, node, zone })
  return named.map(([what, name]) => (name === undefined ? '' : `, ${what} ${name}`)).join('')
}

function serviceText(service: NonNullable<ClusterFacts['service']>): string {
  const { name, internalTrafficPolicy, externalTrafficPolicy } = service
  return [
    name,
    `internalTrafficPolicy ${internalTrafficPolicy}`,
    `externalTrafficPolicy ${externalTrafficPolicy}`,
    ...(service.trafficDistribution === ''
      ? []
      : [`trafficDistribution ${service.trafficDistribution}`]),
    ...(service.topologyMode === '' ? [] : [`topology-mode ${service.topologyMode}`]),
  ].join(', ')
}

const HEAD = 'NetworkPolicies (by the objects; whether a node enforces them: node-proxy status):'

/** The lines about the NetworkPolicies. `judgements` undefined: they are not known. */
function policyLines(
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
  return [egress, ingress].reduce(
    (sum, one) => sum + (one?.policies.length ?? 0) + (one?.clusterPolicies.length ?? 0),
    0,
  )
}

function judgementLines(judgement: PolicyJudgement): readonly string[] {
  const { ip, port, isAdmitted, seen, egress, ingress } = judgement
  const as = seen === undefined ? '' : `, which sees ${seen},`
  const verdict = isAdmitted ? 'admitted' : 'not admitted'
  return [
    `  by these objects the connection to ${hostPort(ip, port)}${as} is ${verdict}`,
    ...[egress, ingress].flatMap((one) => (one === undefined ? [] : [`    ${judgementText(one)}`])),
  ]
}

/** `ingress of pod shop/web-1: admitted by shop/allow, rule ingress[0]`. */
function judgementText({
  direction,
  pod,
  policies,
  clusterPolicies,
  isAdmitted,
  decidedBy,
  admittedBy,
  exempt,
}: EndJudgement): string {
  const head = `${direction} of pod ${pod}:`
  if (policies.length + clusterPolicies.length === 0) {
    return `${head} admitted: no policy selects it`
  }
  if (exempt === 'itself') return `${head} admitted: a Pod reaches itself`
  if (exempt === 'ownNode') return `${head} admitted: a node and its own Pods reach each other`
  if (decidedBy !== undefined) {
    const { action, policy, tier, rule, name } = decidedBy
    const verb = action === 'Accept' ? 'admitted' : 'not admitted: denied'
    const named = name === '' ? '' : ` ${quote(name)}`
    return `${head} ${verb} by clusternetworkpolicy/${policy} of tier ${tier}, rule ${direction}[${rule}]${named}`
  }
  if (policies.length === 0) {
    return `${head} admitted: no rule of ${clusterPolicies.map((one) => `clusternetworkpolicy/${one}`).join(', ')} decides`
  }
  const selecting = policies.join(', ')
  if (!isAdmitted || admittedBy === undefined)
    return `${head} not admitted: selected by ${selecting}, no rule admits it`
  const { policy, rule, isByPodAddress } = admittedBy
  const doubt = isByPodAddress
    ? ' (an ipBlock with the address of a Pod, which some networks ignore)'
    : ''
  return `${head} admitted by ${policy}, rule ${direction}[${rule}]${doubt}`
}
