import type { Command } from 'commander'
import { type ForeignToken, foreignTokens } from '../../doctor/checks/api-token.ts'
import { sessionAffinity } from '../../doctor/checks/session-affinity.ts'
import { diagnose, diagnoseNodes, findingsText } from '../../doctor/diagnose.ts'
import type { ClusterEvidence } from '../../doctor/evidence/cluster-evidence.ts'
import type { Finding } from '../../doctor/evidence/finding.ts'
import {
  accountOf,
  type InspectedObject,
  inspectedKind,
} from '../../doctor/evidence/inspected-object.ts'
import {
  type BackendConnections,
  decodeNodeFacts,
  type NodeFacts,
  type TrafficFacts,
} from '../../doctor/evidence/node-facts.ts'
import { nameOf } from '../../doctor/evidence/objects.ts'
import { unbalancedLoad } from '../../doctor/node-checks/backends.ts'
import { hostPort, parseIp } from '../../lib/ip.ts'
import {
  arrayAt,
  type Json,
  type JsonObject,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { objectPath } from '../discovery/api-resource.ts'
import { openCatalogue } from '../discovery/catalogue.ts'
import { selectedObject } from '../discovery/selected.ts'
import { addNodeFlags, type NodeFlags } from '../nodes/node-flags.ts'
import { readLinesOfNodes, readNodes } from '../nodes/read-nodes.ts'
import { jsonText } from '../output/documents.ts'
import { formatAmong } from '../output/output-format.ts'
import { type CommandContext, type Run, runs } from '../session/command-module.ts'
import { listObjects } from '../session/list-pages.ts'
import { usageError } from '../usage/exit-code.ts'
import { accessFindings } from './access-findings.ts'
import { dnsFindings } from './dns-findings.ts'
import { ownCredential, reviewToken, tokenFindings } from './inspected-token.ts'
import { type ReadEvidence, readEvidence } from './read-evidence.ts'

/** Milliseconds for the facts of one node, which lists all rules of its kernel. */
const TIMEOUT_MS = 65_000

/** The most audiences that are reviewed. */
const MAX_AUDIENCES = 3
/** The shortest life of a token, in seconds. */
const LIFETIME = 600

const ABOUT = `
Exit code 0: nothing was found; 1: something was. What you may not read is not checked, and
is said on standard error. With --nodes the node-proxy of every node reads its own: firewalls,
kernel settings, modules, connection tracking; it must serve remote inspection.

Examples:
  orchctl doctor -A
  orchctl doctor service/web
  orchctl doctor serviceaccount/robot -o json
  orchctl doctor service/web --nodes
  orchctl doctor pod/web-1 --can list pods
  orchctl doctor --token-file /var/run/secrets/kubernetes.io/serviceaccount/token
`

interface DoctorFlags extends NodeFlags {
  readonly nodes?: boolean
  readonly allNamespaces?: boolean
  readonly output?: string
  readonly can?: readonly string[]
  readonly tokenFile?: string
  readonly dnsServer?: string
  readonly clusterDomain: string
}

/** `orchctl doctor`. */
export function define(command: Command, context: CommandContext): void {
  command
    .argument(
      '[object...]',
      'service/NAME, pod/NAME or serviceaccount/NAME; none: all of the namespace',
    )
    .option('-A, --all-namespaces', 'all namespaces')
    .option(
      '--can <words...>',
      'VERB RESOURCE [NAME]: check whether the account, or the account of the Pod, may do this',
    )
    .option('--token-file <file>', 'why this token is rejected; - is standard input')
    .option(
      '--dns-server <address>',
      'query this DNS server of the cluster, too: ADDRESS or ADDRESS:PORT',
    )
    .option('--cluster-domain <domain>', 'the domain of Services', 'cluster.local')
    .option('-o, --output <format>', 'json')
    .option('--nodes', 'also check the nodes')
    .addHelpText('after', ABOUT)
  runs<DoctorFlags>(addNodeFlags(command), context, doctor)
}

const doctor: Run<DoctorFlags> = async (args, flags, context) => {
  const { allNamespaces, output } = flags
  formatAmong(output, 'json')
  const { namespace } = await context.session()
  const inspected = args.length === 0 ? undefined : await inspectedObject(args, context)
  const isWhole = inspected !== undefined || allNamespaces === true || flags.tokenFile !== undefined
  const read = await readEvidence(isWhole ? undefined : namespace, context)
  const findings = await findingsOf(read, inspected, { flags, context })
  const isTerminal = context.host.stdout.isTTY === true
  if (output === 'json') context.print(jsonText([...findings] as never, { isTerminal }))
  else context.print(findingsText(findings))
  return findings.length === 0 ? 0 : 1
}

/**
 * All findings. If the server does not accept the user's credential, nothing can be read, and that is the only finding.
 */
async function findingsOf(
  { evidence: read, unread, isUnauthorized }: ReadEvidence,
  inspected: InspectedObject | undefined,
  given: Given,
): Promise<readonly Finding[]> {
  const { flags, context } = given
  if (isUnauthorized) return [await ownCredential(read, context)]
  for (const [kind, why] of unread) context.notice(`not checked: ${kind}: ${why}`)
  const { clusterDomain } = flags
  const evidence = (await reviewAudiences(read, context)).with({ clusterDomain })
  return await allFindings(evidence, inspected, given)
}

interface Given {
  readonly flags: DoctorFlags
  readonly context: CommandContext
}

/** Findings about what the user asked for come first. If that is only a token, nothing else is shown. */
async function allFindings(
  evidence: ClusterEvidence,
  inspected: InspectedObject | undefined,
  { flags, context }: Given,
): Promise<readonly Finding[]> {
  const { can, tokenFile, dnsServer, clusterDomain } = flags
  const ofToken = tokenFile === undefined ? [] : await tokenFindings(tokenFile, evidence, context)
  if (tokenFile !== undefined && inspected === undefined) return ofToken
  const ofDns =
    dnsServer === undefined
      ? []
      : await dnsFindings({ dnsServer, clusterDomain }, evidence, context)
  const ofAccess = can === undefined ? [] : await accessFindings(can, inspected, evidence, context)
  const isOnNodes = flags.nodes === true
  const counted = isOnNodes ? await withTraffic(evidence, inspected, context, flags) : evidence
  const facts = isOnNodes ? await readFacts(context, flags) : new Map<string, NodeFacts>()
  const onNodes = diagnoseNodes(facts)
  const enforcement = [...facts].flatMap(([node, { daemon }]) =>
    daemon === undefined ? [] : [{ node, state: daemon.policies }],
  )
  const ofObjects = diagnose(counted.with({ enforcement }), inspected)
  // A broken binding comes before the refused access that it explains.
  return [
    ...ofToken,
    ...ofDns,
    ...ofObjects,
    ...ofAccess,
    ...unexplained(ofInspected(onNodes, inspected), ofObjects),
  ]
}

function ofInspected(
  findings: readonly Finding[],
  inspected: InspectedObject | undefined,
): readonly Finding[] {
  return inspected?.kind === 'service' ? concerning(findings, inspected.key) : findings
}

/** @throws NP_ORCHCTL_USAGE for other kinds, NP_CLIENT_REFUSED when the object does not exist */
async function inspectedObject(
  args: readonly string[],
  context: CommandContext,
): Promise<InspectedObject> {
  const { resource, name } = await selectedObject(args, await openCatalogue(context))
  const kind = resource.group === '' ? inspectedKind(resource.kind) : undefined
  if (kind === undefined) {
    const hint = 'write service/NAME, pod/NAME or serviceaccount/NAME'
    throw usageError(`${quote(resource.kind)} cannot be checked`, hint)
  }
  const { api, namespace } = await context.session()
  await api.send({ path: objectPath(resource, namespace, name) })
  return { kind, key: `${namespace}/${name}` }
}

/**
 * Finds out which audiences of the tokens that Pods send to the API server it accepts. The server publishes only its
 * issuer, so the check requests a token like the Pod's, bound to that Pod, has it reviewed, and discards it.
 */
async function reviewAudiences(
  evidence: ClusterEvidence,
  context: CommandContext,
): Promise<ClusterEvidence> {
  const { server } = evidence
  const byAudience = Map.groupBy(foreignTokens(evidence), ({ audience }) => audience)
  if (server === undefined || byAudience.size === 0) return evidence
  const samples = [...byAudience.values()].flatMap(([first]) => first ?? [])
  const reviewed = await Promise.all(
    samples.slice(0, MAX_AUDIENCES).map(async (sample) => {
      return { audience: sample.audience, isAccepted: await isAccepted(sample, context) }
    }),
  )
  const those = (wanted: boolean): readonly string[] =>
    reviewed.filter((one) => one.isAccepted === wanted).map(({ audience }) => audience)
  const audiences = [...server.audiences, ...those(true)]
  return evidence.with({ server: { ...server, audiences, rejectedAudiences: those(false) } })
}

/** Undefined: the user may not find out. */
async function isAccepted(
  { pod, audience }: ForeignToken,
  context: CommandContext,
): Promise<boolean | undefined> {
  const { api } = await context.session()
  const [namespace = '', account = ''] = accountOf(pod).split('/')
  const bound = { name: nameOf(pod), uid: stringAt(pod, 'metadata', 'uid') }
  const answer = await api.request({
    method: 'POST',
    path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/serviceaccounts/${encodeURIComponent(account)}/token`,
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {
        audiences: [audience],
        expirationSeconds: LIFETIME,
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', ...bound },
      },
    },
  })
  const token = answer.ok ? stringAt(answer.value.body, 'status', 'token') : ''
  if (token !== '') return reviewToken(token, [], context)
  const why = answer.ok ? 'the server issued no token' : answer.failure.message
  context.notice(`not checked: whether tokens for ${quote(audience)} are accepted: ${why}`)
  return undefined
}

/**
 * The evidence with the connections of the inspected Service by backend, as the node-proxy of each node counts them.
 * Nodes that cannot be read are skipped; the notice about them comes from the read of their facts.
 */
async function withTraffic(
  evidence: ClusterEvidence,
  inspected: InspectedObject | undefined,
  context: CommandContext,
  flags: NodeFlags,
): Promise<ClusterEvidence> {
  if (inspected?.kind !== 'service') return evidence
  const traffic = await readTraffic(inspected.key, evidence.all('nodes'), context, flags)
  return evidence.with({ traffic })
}

async function readTraffic(
  service: string,
  nodes: readonly JsonObject[],
  context: CommandContext,
  flags: NodeFlags,
): Promise<readonly TrafficFacts[]> {
  const answers = await readLinesOfNodes(nodes, context, {
    path: '/inspection/v1/traffic',
    query: { service },
    ...flags,
  })
  return answers.flatMap(({ node, result }) =>
    result.ok ? result.lines.flatMap((line) => trafficOf(node, service, line)) : [],
  )
}

/**
 * One for each port and family, which have backends of their own. Ports whose connections are not counted are left out.
 */
function trafficOf(node: string, service: string, line: JsonObject): readonly TrafficFacts[] {
  if (stringAt(line, 'service') !== service) return []
  const byEntry = Map.groupBy(arrayAt(line, 'backends'), (one) => stringAt(one, 'entry'))
  return [...byEntry.values()].flatMap((all): TrafficFacts[] => {
    const backends = all.flatMap(connectionsOf)
    return backends.length === all.length ? [{ node, service, backends }] : []
  })
}

function connectionsOf(backend: Json): readonly BackendConnections[] {
  const ip = parseIp(stringAt(backend, 'ip'))
  const port = valueAt(backend, 'port')
  const connections = scalarText(valueAt(backend, 'traffic', 'connections'))
  if (ip === undefined || typeof port !== 'number' || !/^[0-9]{1,15}$/.test(connections)) return []
  return [{ backend: hostPort(ip, port), connections: Number(connections) }]
}

/**
 * The facts that the node-proxies of the cluster read, by the name of the node. A notice names each node that cannot be
 * read. @throws what the server refuses
 */
async function readFacts(
  context: CommandContext,
  flags: NodeFlags,
): Promise<ReadonlyMap<string, NodeFacts>> {
  const { api } = await context.session()
  const nodes = await listObjects(api, { path: '/api/v1/nodes' })
  const options = {
    path: '/inspection/v1/facts',
    timeoutMs: TIMEOUT_MS,
    ...flags,
  }
  const known = new Map<string, NodeFacts>()
  for (const { node, result } of await readNodes(nodes, context, options)) {
    const facts = result.ok ? decodeNodeFacts(result.body) : undefined
    if (facts !== undefined) known.set(node, facts)
    const notices = result.ok
      ? unreadOf(facts)
      : [`${result.error.message}; ${result.error.hint ?? ''}`]
    for (const why of notices) context.notice(`not checked: node ${node}: ${why}`)
  }
  return known
}

function unreadOf(facts: NodeFacts | undefined): readonly string[] {
  if (facts === undefined) return ['its node-proxy sends facts of another version']
  return facts.unread.map(({ what, why }) => `${what}: ${why}`)
}

/** Findings that concern a Service, and those that concern the whole node. */
function concerning(findings: readonly Finding[], key: string): readonly Finding[] {
  return findings.filter(
    ({ affects }) =>
      affects.includes(`service/${key}`) || !affects.some((one) => one.startsWith('service/')),
  )
}

/** Findings of nodes, less the unbalanced load of Services for which a finding about session affinity explains it. */
function unexplained(
  findings: readonly Finding[],
  ofObjects: readonly Finding[],
): readonly Finding[] {
  const sticky = ofObjects.filter(({ check }) => check === sessionAffinity.name)
  const explained = new Set(sticky.map(({ object }) => object))
  return findings.filter(
    ({ check, affects }) =>
      check !== unbalancedLoad.name || !affects.some((one) => explained.has(one)),
  )
}
