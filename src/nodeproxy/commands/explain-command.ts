import { toJson } from '@bufbuild/protobuf'
import type { Command } from 'commander'
import {
  compareOutcomes,
  type Expectation,
  observedWords,
  percent,
} from '../../explain/compare-outcomes.ts'
import type { Step } from '../../explain/packet/branch.ts'
import type { TrackedConnection, TrackedConnections } from '../../explain/read-connections.ts'
import { arrivalInterface } from '../../explain/walk/routing.ts'
import type { WalkOutcome } from '../../explain/walk/walk-outcome.ts'
import { type WalkWorld, walkPacket } from '../../explain/walk/walk-packet.ts'
import type { ExplanationDocument } from '../../inspection/answers.ts'
import {
  type ExplainResponse,
  ExplainResponseSchema,
} from '../../inspection/generated/inspection_pb.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { familyOf, hostPort, type IpAddress } from '../../lib/ip.ts'
import type { Protocol } from '../../resources/types.ts'
import type { CommandContext } from './command-module.ts'
import { type DesiredQuery, type KnownNode, readRecordedNode, readThisNode } from './known-node.ts'
import { parseQuery, type Query, type QueryFlags } from './parse-query.ts'
import { addSocketFlags, type SocketFlags } from './socket-flags.ts'

/** The most left-out endpoints that the text shows. */
const MAX_LEFT_OUT = 10

const SEEN: Readonly<Record<string, string>> = {
  yes: 'backends see an address of this node',
  no: 'backends see the address of the client',
  toItself: 'backends see the address of the client, but the client itself sees one of this node',
}

const EXAMPLES = `
Examples:
  node-proxy explain 10.0.0.2 172.30.0.10:80         a Pod to the address of a Service
  node-proxy explain 10.0.0.2 shop/web:http          the same by name
  node-proxy explain 203.0.113.7 192.168.0.2:30080   a client outside to a node port
  node-proxy explain 203.0.113.7 node:30080          the same at an address that serves node ports
  node-proxy explain node shop/web                   a process of this node
  node-proxy explain 10.0.0.2:40000 shop/web         a connection that exists already
  node-proxy explain --from node7.tar.gz 10.0.0.2 shop/web   elsewhere, without root
`

/** Milliseconds between two looks with --watch. */
const WATCH_MS = 1_000

interface Flags extends SocketFlags, QueryFlags {
  readonly watch?: boolean
  readonly from?: string
}

/** `node-proxy explain`: what happens to the first packet of a connection on this node, and why. */
export function define(command: Command, { host, finish }: CommandContext): void {
  command
    .argument('<source>', 'ADDRESS[:PORT], or "node": a process of this node')
    .argument('<destination>', 'ADDRESS:PORT, node:PORT, or NAMESPACE/NAME[:PORT] of a Service')
    .option('-p, --protocol <protocol>', 'tcp, udp or sctp', 'tcp')
    .option(
      '-i, --interface <name>',
      'interface by which the packet arrives; default: that of the route back',
    )
    .option(
      '-f, --from <file>',
      'of node-proxy record: explain on the node that it was recorded on',
    )
    .option('-w, --watch', 'look again each second, and print what changes')
    .addHelpText('after', EXAMPLES)
  addSocketFlags(command).action(async (source: string, destination: string, flags: Flags) => {
    const query = parseQuery(source, destination, flags)
    if (typeof query === 'string') throw new NodeProxyError('NP_NODEPROXY_USAGE', query)
    let last = ''
    do {
      const explanation = await explainOnce(query, flags)
      const isText = flags.output === 'text'
      const text = isText ? explanationText(explanation) : explanationJson(explanation)
      if (text !== last) host.stdout.write(last === '' || !isText ? text : `\n${text}`)
      last = text
      finish(isWell(explanation) ? 0 : 1)
    } while (flags.watch === true && flags.from === undefined && (await waited(host.signal)))
  })
}

async function explainOnce(query: Query, { from, socket }: Flags): Promise<Explanation> {
  const node = await (from === undefined ? readThisNode(socket) : readRecordedNode(from))
  try {
    return await explainPacket(node, query)
  } finally {
    await node.close()
  }
}

/** Resolves after the pause: false when the command is to end. */
function waited(signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const stop = (): void => resolve(false)
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop, { once: true })
    setTimeout(() => {
      signal.removeEventListener('abort', stop)
      resolve(!signal.aborted)
    }, WATCH_MS)
  })
}

/** Whether the connection is established, and the kernel does what node-proxy wants. */
function isWell({ observed, differences }: Explanation): boolean {
  return differences.length === 0 && observed.every(({ kind }) => kind === 'delivered')
}

/** An explanation for people. */
function explanationText(explanation: Explanation): string {
  const { differences, desired, observed } = explanation
  const [likeliest] = observed
  return [
    headOf(explanation),
    '',
    ...(differences.length === 0 ? [] : ['The kernel does otherwise than node-proxy wants:']),
    ...differences.map((one) => `  ${one}`),
    ...(differences.length === 0 ? [] : ['']),
    'The kernel:',
    ...observed.map(
      (one) => `  ${percent(one.probability).padStart(6)}  ${observedWords(one)}${boundWords(one)}`,
    ),
    '',
    'node-proxy:',
    ...desiredLines(desired),
    ...connectionLines(explanation),
    '',
    observed.length === 1 ? 'The way:' : 'The way of the likeliest:',
    ...(likeliest?.steps ?? []).map((one) => `  ${stepText(one)}`),
    '',
  ].join('\n')
}

function headOf({ src, dst, port, protocol, inInterface }: Explanation): string {
  const from = src ?? 'a process of this node'
  const by =
    inInterface === undefined ? (src === undefined ? '' : ', of this node') : `, by ${inInterface}`
  return `${protocol} from ${from}${by} to ${hostPort(dst, port)}`
}

function desiredLines(desired: Explanation['desired']): readonly string[] {
  if (typeof desired === 'string') return [`  not known: ${desired}`]
  const { outcome, entry, backends, reasons, hint, mode, pool, announcement } = desired
  return [
    `  ${outcome}${entry === '' ? '' : `, for ${entry}`} (mode ${mode})`,
    ...backendLines(backends),
    ...desired.policyRefusals.map(({ text }) => `  ${text}`),
    ...seenLines(desired),
    ...reasons.map((reason) => `  ${reason}`),
    ...poolLines(pool),
    ...(announcement === '' ? [] : [`  on the network: ${announcement}`]),
    ...(hint === '' ? [] : [`  ${hint}`]),
  ]
}

/** With session affinity: how long the kernel will remember that this client has this backend. */
function boundWords({ kind, steps }: WalkOutcome): string {
  const left = steps.findLast(({ secondsLeft }) => secondsLeft !== undefined)?.secondsLeft
  if (kind !== 'delivered' || left === undefined) return ''
  return `, as earlier connections of this client; forgotten after ${left} s without one`
}

/** Each backend with its share of new connections. */
function backendLines(backends: ExplainResponse['backends']): readonly string[] {
  const total = backends.reduce((sum, { weight }) => sum + weight, 0)
  return backends.map(({ ip, port, weight, isLocal, node }) => {
    const share = total === 0 ? '' : percent(weight / total)
    const where = isLocal ? ', on this node' : node === '' ? '' : `, on node ${node}`
    return `  ${share.padStart(6)}  ${hostPort(ip, port)}${where}`
  })
}

/** Why the pool has these backends, and which endpoints get nothing. */
function poolLines(pool: ExplainResponse['pool']): readonly string[] {
  if (pool === undefined) return []
  const { reasons, leftOut, leftOutCount } = pool
  const shown = leftOut.slice(0, MAX_LEFT_OUT)
  return [
    ...reasons.map((reason) => `  ${reason}`),
    ...(leftOutCount === 0 ? [] : ['  endpoints that get no new connections from here:']),
    ...shown.map(({ ip, port, text }) => `    ${hostPort(ip, port)}: ${text}`),
    ...(leftOutCount > shown.length ? [`    and ${leftOutCount - shown.length} more`] : []),
  ]
}

function seenLines({ masquerade }: ExplainResponse): readonly string[] {
  const seen = SEEN[masquerade]
  return seen === undefined ? [] : [`  ${seen}`]
}

/** The connections that exist; no lines when there are none. */
function connectionLines({ connections }: Explanation): readonly string[] {
  if (typeof connections === 'string') return ['', `Connections: not known: ${connections}`]
  const { listed, count } = connections
  if (count === 0) return []
  return [
    '',
    'Connections that exist stay with their backend:',
    ...listed.map((one) => `  ${connectionText(one)}`),
    ...(count > listed.length ? [`  and ${count - listed.length} more`] : []),
  ]
}

function connectionText(connection: TrackedConnection): string {
  const { original, reply, state, secondsLeft, isAnswered } = connection
  const client = hostPort(original.src, original.srcPort)
  const backend = hostPort(reply.src, reply.srcPort)
  const seen = hostPort(reply.dst, reply.dstPort)
  const how = `${state === '' ? '' : `${state}, `}${isAnswered ? '' : 'without an answer, '}`
  return `${client} to ${backend}, which sees ${seen}; ${how}forgotten after ${secondsLeft} s`
}

function stepText({ where, object, text, counter }: Step): string {
  const count = counter === undefined ? '' : ` [${counter.packets} packets so far]`
  if (object === undefined) return `${where}: ${text}`
  return `${where}: ${object}${object.endsWith(text) ? '' : ` → ${text}`}${count}`
}

/** An explanation for programs: one JSON object, which includes the text for people. */
function explanationJson(explanation: Explanation): string {
  const { src = null, inInterface = null, desired, observed, connections, ...rest } = explanation
  const known =
    typeof desired === 'string'
      ? { desired: null, desiredUnknown: desired }
      : { desired: desiredJson(desired) }
  const existing =
    typeof connections === 'string'
      ? { connections: null, connectionsUnknown: connections }
      : { connections }
  const words = { isWell: isWell(explanation), text: explanationText(explanation) }
  const json = {
    src,
    inInterface,
    ...rest,
    ...known,
    ...existing,
    observed: observed.map(outcomeJson),
    ...words,
  } satisfies ExplanationDocument
  return `${JSON.stringify(json, null, 2)}\n`
}

/** With every field, for which the library types any JSON. */
function desiredJson(desired: ExplainResponse): ExplanationDocument['desired'] {
  return toJson(ExplainResponseSchema, desired, {
    alwaysEmitImplicit: true,
  }) as ExplanationDocument['desired']
}

function outcomeJson({ steps, ...outcome }: WalkOutcome) {
  return { ...outcome, steps: steps.map(stepJson) }
}

/** Counters have 64 bits, so JSON has them as strings, as in protobuf's JSON. */
function stepJson({ counter, ...step }: Step) {
  if (counter === undefined) return step
  return { ...step, counter: { packets: `${counter.packets}`, bytes: `${counter.bytes}` } }
}

/** What was found out about a packet. */
interface Explanation {
  readonly src: IpAddress | undefined
  readonly dst: IpAddress
  readonly port: number
  readonly protocol: Protocol
  /** Undefined: from a process of this node. */
  readonly inInterface: string | undefined
  /** What node-proxy wants; a text: why that is not known. */
  readonly desired: ExplainResponse | string
  /** What the kernel does. */
  readonly observed: readonly WalkOutcome[]
  /** How the kernel differs from what node-proxy wants. */
  readonly differences: readonly string[]
  /** Connections to the destination that the kernel has already; a text: why they are not known. */
  readonly connections: TrackedConnections | string
}

/**
 * Explains a packet by the forwarding table of a node-proxy and by what its kernel holds. Without node-proxy, only the
 * kernel's part is explained; a destination that is the name of a Service then throws NP_INSPECTION_….
 */
async function explainPacket(node: KnownNode, query: Query): Promise<Explanation> {
  const { world } = node
  const src = query.source.kind === 'address' ? query.source.ip : undefined
  const inInterface = await interfaceOf(world, query, src)
  const desired = await node.desired(requestOf(query, { src, inInterface }))
  const { dst, port, protocol } = destinationOf(query, desired)
  const family = familyOf(dst)
  const srcPort = query.source.port
  const observed = await walkPacket(world, {
    family,
    protocol,
    src,
    srcPort,
    dst,
    dstPort: port,
    inInterface,
  })
  const isOwn = (ip: IpAddress) => world.facts.addressType(ip) === 'local'
  const isOwnSource = src === undefined || isOwn(src)
  const differences =
    typeof desired === 'string'
      ? []
      : compareOutcomes({ src, isOwnSource, dst, port }, expectationOf(desired), observed)
  const ends = { family, protocol, from: src ?? isOwn, srcPort, dst, dstPort: port }
  const connections = await node.connections(ends)
  return { src, dst, port, protocol, inInterface, desired, observed, differences, connections }
}

async function interfaceOf(world: WalkWorld, query: Query, src: IpAddress | undefined) {
  if (query.inInterface !== undefined) return query.inInterface
  if (src === undefined) return undefined
  const found = await arrivalInterface(world.routing, src)
  if (found !== undefined) return found === '' ? undefined : found
  throw new NodeProxyError('NP_EXPLAIN_NO_ROUTE', `this node has no route back to ${src}`, {
    hint: 'name the interface by which its packets come with --interface, or explain on the node of the client',
  })
}

function requestOf(
  { destination, protocol }: Query,
  { src = '', inInterface = '' }: { src?: string | undefined; inInterface?: string | undefined },
): DesiredQuery {
  if (destination.kind === 'service') {
    return { src, inInterface, service: destination.service, dst: '', port: 0, protocol: '' }
  }
  const dst = destination.kind === 'node' ? '' : destination.ip
  return { src, inInterface, service: '', dst, port: destination.port ?? 0, protocol }
}

function destinationOf({ destination, protocol }: Query, desired: ExplainResponse | string) {
  if (destination.kind === 'address') {
    return { dst: destination.ip, port: destination.port ?? 0, protocol }
  }
  const found = desired as ExplainResponse
  return { dst: found.dst as IpAddress, port: found.port, protocol: found.protocol as Protocol }
}

/** What a node-proxy wants, in the form with which outcomes are compared. */
export function expectationOf(desired: ExplainResponse): Expectation {
  const { outcome, entry, backends, masquerade, hasAffinity, ownPorts } = desired
  const { enforcesPolicies, policyRefusals } = desired
  return {
    outcome: outcome as Expectation['outcome'],
    isUnclaimed: entry === '',
    backends: backends.map(({ ip, port, weight }) => ({ ip: ip as IpAddress, port, weight })),
    masquerade: masquerade === '' ? undefined : (masquerade as Expectation['masquerade']),
    hasAffinity,
    ownPorts: new Set(ownPorts),
    refusals: enforcesPolicies
      ? policyRefusals.map(({ ip, port }) => ({ ip: ip as IpAddress, port }))
      : undefined,
  }
}
