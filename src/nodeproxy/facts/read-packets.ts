import { connect } from 'node:net'
import type { NodeFacts, WalkFacts, WalkOutcomeFacts } from '../../doctor/evidence/node-facts.ts'
import { parseObjects, type RunCommand, readJson, textOf } from '../../explain/host/run-command.ts'
import { arrivalInterface, type Routing } from '../../explain/walk/routing.ts'
import type { WalkOutcome } from '../../explain/walk/walk-outcome.ts'
import { type WalkWorld, walkPacket } from '../../explain/walk/walk-packet.ts'
import type { InspectionClient } from '../../inspection/inspection-client.ts'
import { type Family, familyOf, hostPort, type IpAddress, parseIp } from '../../lib/ip.ts'
import { isInScope } from '../../modes/netfilter/settings/node-port-scope.ts'
import type { Protocol } from '../../resources/types.ts'
import type { DesiredRules } from '../inspection/desired-state.ts'
import type { NodeSource } from './node-source.ts'
import { isOwnRule } from './read-masquerades.ts'
import type { LocalBackend, SampledEntries, SampledFrontend } from './sampled-entries.ts'

/** A sender, and the interface by which its packets arrive. */
interface PacketSource {
  readonly src: IpAddress
  readonly inInterface: string
}

/** The senders to choose from. */
export interface Senders {
  readonly pods: readonly PacketSource[]
  readonly outside: readonly PacketSource[]
  /** A client that an operator named. */
  readonly client: PacketSource | undefined
  /** Addresses of this node, the best for node ports first. */
  readonly node: readonly IpAddress[]
}

/** A packet that is to be followed. */
interface Probe {
  readonly purpose: WalkFacts['purpose']
  /** Undefined: it is not sent to a Service. */
  readonly to: SampledFrontend | undefined
  /** Undefined: from a process of this node. */
  readonly source: PacketSource | undefined
  readonly dst: IpAddress
  readonly port: number
  readonly protocol: Protocol
}

/** The packet that shows whether a neighbour can reach a service on loopback. */
const LOOPBACK = { dst: '127.0.0.1' as IpAddress, port: 10_249, protocol: 'TCP' } as const

/** Stands for a Pod when none is known; a packet from it is left out. */
const NO_POD: PacketSource = { src: '' as IpAddress, inInterface: '' }

/** Milliseconds after which no further packet is followed. */
const BUDGET_MS = 20_000
/** The most outcomes of a packet that are kept, the likeliest first. */
const MAX_OUTCOMES = 20

const CONNECT_TIMEOUT_MS = 1_000
/** The most connections that are opened at the same time. */
const MAX_CONNECTING = 16

/** The most backends whose interface is queried. */
const MAX_BACKENDS = 50

/** The most Pods that are senders. */
const MAX_PODS = 8

/** What is known of the node when its packets are followed. */
export interface KnownNode {
  readonly source: Pick<NodeSource, 'run'>
  readonly client: InspectionClient
  readonly sample: SampledEntries
  readonly rules: DesiredRules
  readonly world: WalkWorld
}

/** Which packets are followed, and how. */
export interface PacketOptions {
  readonly uplink: string
  readonly connects: boolean
  readonly client: IpAddress | undefined
}

/** What happens to packets to a sample of Services. */
export async function readPackets(
  known: KnownNode,
  options: PacketOptions,
): Promise<Pick<NodeFacts, 'walks' | 'connects' | 'localBackends'>> {
  const { sample, world, client, rules } = known
  const backends = [...sample.localBackends.values()]
  const probes = chooseProbes(sample, await findSenders(known, options), rules)
  return {
    walks: await walkProbes(probes, { world, client, now: () => performance.now() }),
    localBackends: await countLocalBackends(world.routing, backends),
    connects: options.connects ? await connectBackends(backends) : [],
  }
}

async function findSenders(
  { source, sample, world }: KnownNode,
  { uplink, client }: PacketOptions,
): Promise<Senders> {
  const { run } = source
  const { routing } = world
  const [outside4, outside6, node4, node6] = await Promise.all([
    outsideSources(run, routing, 4),
    outsideSources(run, routing, 6),
    nodeAddresses(run, uplink, 4),
    nodeAddresses(run, uplink, 6),
  ])
  const inInterface = client === undefined ? '' : await arrivalInterface(routing, client)
  return {
    pods: await podSources(routing, sample.localBackends.values(), MAX_PODS),
    outside: [...outside4, ...outside6],
    node: [...node4, ...node6],
    client: client === undefined || !inInterface ? undefined : { src: client, inInterface },
  }
}

/** The number of local backends behind each interface: one bridge leads to all of them, or one interface to each. */
async function countLocalBackends(
  routing: Routing,
  backends: Iterable<LocalBackend>,
): Promise<NodeFacts['localBackends']> {
  const counts = new Map<string, number>()
  const addresses = [...new Set([...backends].map(({ backend }) => backend.ip))]
  for (const text of addresses.slice(0, MAX_BACKENDS)) {
    const ip = parseIp(text)
    const name = ip === undefined ? '' : ((await arrivalInterface(routing, ip)) ?? '')
    if (name !== '') counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts].map(([name, count]) => ({ interface: name, count }))
}

type ConnectFacts = NodeFacts['connects'][number]

/** Connects to each TCP backend of this node once, as a probe of the kubelet does, and closes at once. */
async function connectBackends(backends: Iterable<LocalBackend>): Promise<readonly ConnectFacts[]> {
  const waiting = [...backends].filter(({ entry }) => entry.protocol === 'TCP')
  const results: ConnectFacts[] = []
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { entry, backend } = next
      const { ip, port } = backend
      const answer = await answerOf(ip, port)
      results.push({ entry: entry.id, service: entry.service, ip, port, answer })
    }
  }
  await Promise.all(Array.from({ length: MAX_CONNECTING }, worker))
  return results.toSorted((a, b) => (a.entry < b.entry ? -1 : 1))
}

function answerOf(host: string, port: number): Promise<ConnectFacts['answer']> {
  const { promise, resolve } = Promise.withResolvers<ConnectFacts['answer']>()
  const socket = connect({ host, port, timeout: CONNECT_TIMEOUT_MS })
  const end = (answer: ConnectFacts['answer']) => () => {
    socket.destroy()
    resolve(answer)
  }
  socket.once('connect', end('accepts'))
  socket.once('timeout', end('silent'))
  socket.once('error', (error: NodeJS.ErrnoException) =>
    end(error.code === 'ECONNREFUSED' ? 'refuses' : 'silent')(),
  )
  return promise
}

/** What packets are followed with. */
interface WalkTools {
  readonly world: WalkWorld
  readonly client: Pick<InspectionClient, 'explain'>
  /** Milliseconds. */
  readonly now: () => number
}

/** Follows packets through what the kernel holds, and adds what node-proxy wants to happen to them. */
async function walkProbes(
  probes: readonly Probe[],
  { world, client, now }: WalkTools,
): Promise<readonly WalkFacts[]> {
  const end = now() + BUDGET_MS
  const walks: WalkFacts[] = []
  for (const probe of probes) {
    if (now() > end) break
    const desired = probe.to === undefined ? '' : await desiredOf(probe, client)
    walks.push(factsOf(probe, desired, await walkPacket(world, startOf(probe))))
  }
  return walks
}

function startOf({ source, dst, port, protocol }: Probe) {
  const { src, inInterface } = source ?? { src: undefined, inInterface: undefined }
  return {
    family: familyOf(dst),
    protocol,
    src,
    srcPort: undefined,
    dst,
    dstPort: port,
    inInterface,
  }
}

async function desiredOf(
  { source, dst, port, protocol }: Probe,
  client: WalkTools['client'],
): Promise<string> {
  const { src = '', inInterface = '' } = source ?? {}
  const { outcome } = await client.explain({ src, dst, port, protocol, inInterface, service: '' })
  return outcome
}

function factsOf(probe: Probe, desired: string, outcomes: readonly WalkOutcome[]): WalkFacts {
  const { purpose, to, source, dst, port, protocol } = probe
  return {
    purpose,
    dst,
    port,
    protocol,
    desired,
    entry: to?.entry.id ?? '',
    service: to?.entry.service ?? '',
    frontend: to?.frontend.kind ?? '',
    sourceRanges: to?.frontend.sourceRanges ?? [],
    src: source?.src ?? '',
    inInterface: source?.inInterface ?? '',
    outcomes: outcomes.slice(0, MAX_OUTCOMES).map(outcomeOf),
  }
}

function outcomeOf(outcome: WalkOutcome): WalkOutcomeFacts {
  const last = outcome.steps.at(-1)
  const { where = '', object = '', counter } = outcome.kind === 'delivered' ? {} : (last ?? {})
  return {
    kind: outcome.kind,
    share: outcome.probability,
    where,
    rule: object,
    text: outcomeText(outcome),
    packets: counter === undefined ? -1 : Number(counter.packets),
    isOwn: isOwnRule(where, object),
  }
}

function outcomeText(outcome: WalkOutcome): string {
  if (outcome.kind === 'delivered') return hostPort(outcome.dst.ip, outcome.dst.port ?? 0)
  if (outcome.kind === 'refused') return outcome.how
  return outcome.kind === 'silent' ? outcome.by : outcome.reason
}

/** The packets to follow, those from Pods first. */
export function chooseProbes(
  sample: SampledEntries,
  senders: Senders,
  rules: DesiredRules,
): readonly Probe[] {
  const { clusterIps, nodePorts, external, withoutLocal, withRanges } = sample
  const outer = [...nodePorts, ...external]
  const fromClient = senders.client === undefined ? [] : [senders.client]
  const probes = (
    purpose: Probe['purpose'],
    frontends: readonly SampledFrontend[],
    sources: readonly (PacketSource | undefined)[],
  ) =>
    frontends.flatMap((to) =>
      sourcesFor(to, sources).flatMap((source) => probeOf(purpose, { to, source }, senders, rules)),
    )
  return [
    ...clusterIps.flatMap((to) => probes('fromPod', [to], [podFor(to, senders.pods)])),
    ...probes('fromNode', clusterIps.slice(0, 1), [undefined]),
    ...probes('fromOutside', outer, senders.outside),
    ...probes('noLocalEndpoint', withoutLocal, farthest(senders.outside)),
    ...probes('fromClient', [...outer, ...withoutLocal, ...withRanges], fromClient),
    ...senders.outside
      .filter(({ src }) => familyOf(src) === 4)
      .slice(0, 1)
      .map((source) => ({ purpose: 'toLoopback', to: undefined, source, ...LOOPBACK }) as const),
  ]
}

/** The farthest sender of each family, which is the last one (see `outsideSources`). */
function farthest(sources: readonly PacketSource[]): readonly PacketSource[] {
  return [...new Map(sources.map((source) => [familyOf(source.src), source])).values()]
}

/** A Pod that is not a backend of the entry, if there is one. */
function podFor({ entry }: SampledFrontend, pods: readonly PacketSource[]) {
  const family = pods.filter(({ src }) => familyOf(src) === entry.family)
  const others = family.filter(({ src }) => entry.backends.every(({ ip }) => ip !== src))
  return others[0] ?? family[0] ?? NO_POD
}

function sourcesFor({ entry }: SampledFrontend, sources: readonly (PacketSource | undefined)[]) {
  const isFit = (one: PacketSource | undefined) =>
    one === undefined || (one.src !== '' && familyOf(one.src) === entry.family)
  return sources.filter(isFit)
}

function probeOf(
  purpose: Probe['purpose'],
  path: Pick<Probe, 'source'> & { readonly to: SampledFrontend },
  { node }: Senders,
  rules: DesiredRules,
): readonly Probe[] {
  const { entry, frontend } = path.to
  const dst =
    frontend.ip === 'node' ? servingAddress(node, entry.family as Family, rules) : frontend.ip
  if (dst === undefined) return []
  const protocol = entry.protocol as Protocol
  return [{ purpose, ...path, dst: dst as IpAddress, port: frontend.port, protocol }]
}

function servingAddress(
  addresses: readonly IpAddress[],
  family: Family,
  { nodePortScope, localAddresses }: DesiredRules,
): IpAddress | undefined {
  return addresses.find(
    (ip) => familyOf(ip) === family && isInScope(nodePortScope, ip) && localAddresses.includes(ip),
  )
}

/** Addresses of documentation (RFC 5737, RFC 3849), which no host has: they stand for a client far away. */
const FAR_AWAY: Readonly<Record<Family, string>> = { 4: '203.0.113.77', 6: '2001:db8:ffff::77' }

/** Clients outside: the routers of this node, and at last one behind them. */
async function outsideSources(
  run: RunCommand,
  routing: Routing,
  family: Family,
): Promise<readonly PacketSource[]> {
  const routes = await readJson(run, [`-${family}`, 'route', 'show', 'default'])
  const gateways = routes.map((route) => textOf(route, 'gateway') ?? '')
  const known = [...gateways, FAR_AWAY[family]].flatMap((text) => parseIp(text) ?? [])
  const found = await Promise.all(known.map((src) => sourceOf(routing, src)))
  return found.filter((one) => one !== undefined)
}

/** Backends that are Pods of this node, at most `limit` of them. */
async function podSources(
  routing: Routing,
  backends: Iterable<LocalBackend>,
  limit: number,
): Promise<readonly PacketSource[]> {
  const addresses = new Set([...backends].map(({ backend }) => backend.ip))
  const sources: PacketSource[] = []
  for (const text of addresses) {
    const src = parseIp(text)
    const source = src === undefined ? undefined : await sourceOf(routing, src)
    if (source !== undefined) sources.push(source)
    if (sources.length >= limit) break
  }
  return sources
}

/** Undefined: it is an address of this node, or there is no route to it. */
async function sourceOf(routing: Routing, src: IpAddress): Promise<PacketSource | undefined> {
  const inInterface = await arrivalInterface(routing, src)
  return inInterface === undefined || inInterface === '' ? undefined : { src, inInterface }
}

/** Addresses of the interfaces, the first ones of the uplink first, without loopback. */
async function nodeAddresses(
  run: RunCommand,
  uplink: string,
  family: Family,
): Promise<readonly IpAddress[]> {
  const links = await readJson(run, ['addr'])
  const sorted = links.toSorted((a, b) => rank(a) - rank(b))
  return sorted.flatMap((link) => {
    if (textOf(link, 'ifname') === 'lo') return []
    return parseObjects(JSON.stringify(link['addr_info'] ?? [])).flatMap((info) => {
      const ip = parseIp(textOf(info, 'local') ?? '')
      const isWanted = textOf(info, 'scope') === 'global' && ip && familyOf(ip) === family
      return isWanted ? [ip] : []
    })
  })

  function rank(link: Readonly<Record<string, unknown>>): number {
    return textOf(link, 'ifname') === uplink ? 0 : 1
  }
}
