import { existsSync } from 'node:fs'
import { hostname, release } from 'node:os'
import {
  FACTS_FORMAT,
  type InterfaceFacts,
  type NodeFacts,
} from '../../doctor/evidence/node-facts.ts'
import {
  type JsonObject,
  type RunCommand,
  readJson,
  textOf,
} from '../../explain/host/run-command.ts'
import { listNftables } from '../../explain/nftables/read-nftables.ts'
import { openLocalReaders } from '../../explain/world/local-readers.ts'
import { readWorld } from '../../explain/world/read-world.ts'
import { type InspectionClient, openInspection } from '../../inspection/inspection-client.ts'
import { ProcModules } from '../../kernel/kernel-modules.ts'
import { rawTransport } from '../../kernel/netlink/raw-transport.ts'
import { NETLINK_NETFILTER } from '../../kernel/netlink/transport.ts'
import { Spawner } from '../../kernel/spawner/spawner.ts'
import { ProcSysctl, type Sysctl } from '../../kernel/sysctl.ts'
import { KernelTraces } from '../../kernel/traces.ts'
import { systemClock } from '../../lib/clock.ts'
import type { IpAddress } from '../../lib/ip.ts'
import { type Json, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import type { Protocol } from '../../resources/types.ts'
import { findProxies } from '../observation/foreign-proxies.ts'
import { type DaemonKnowledge, readConfigured, readDaemon } from './daemon-knowledge.ts'
import { type NodeSource, rememberCommands } from './node-source.ts'
import { loadsBetween, readGrowth } from './read-growth.ts'
import { isOwnRule, OF_IPTABLES, readMasquerades, XTABLES } from './read-masquerades.ts'
import { readPackets } from './read-packets.ts'
import { SampledEntries } from './sampled-entries.ts'

/** The most sockets on node ports that are kept. */
const MAX_TAKEN = 200
/** The facts about packets where none were followed. */
const NO_PACKETS: Pick<NodeFacts, 'walks' | 'connects' | 'localBackends'> = {
  walks: [],
  connects: [],
  localBackends: [],
}

/** Kernel settings that decide about packets to Services. */
const SETTINGS = [
  'net.ipv4.ip_forward',
  'net.ipv6.conf.all.forwarding',
  'net.ipv4.conf.all.route_localnet',
  'net.ipv4.conf.all.rp_filter',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.ip_local_reserved_ports',
  'net.bridge.bridge-nf-call-iptables',
  'net.bridge.bridge-nf-call-ip6tables',
  'net.netfilter.nf_conntrack_count',
  'net.netfilter.nf_conntrack_max',
] as const

/** What is read, and how. */
export interface FactsOptions {
  /** The version of this program. */
  readonly version: string
  /** The `inspection.socket` of node-proxy. */
  readonly socket: string
  /** The configuration file of node-proxy, which is read when node-proxy does not run. */
  readonly config: string | undefined
  /** Whether to connect to the backends of this node. */
  readonly connects: boolean
  /** Seconds between two reads of counters. */
  readonly seconds: number
  /** A client outside of the cluster whose packets are followed. */
  readonly client: IpAddress | undefined
}

/**
 * Evidence about this node: one snapshot of the kernel and of node-proxy, with counters read twice. Nothing is written.
 * `unread` names what could not be read.
 */
export async function readNodeFacts(options: FactsOptions): Promise<NodeFacts> {
  const readers = openLocalReaders()
  const client = openInspection(options.socket)
  const run = rememberCommands(readers.run)
  const { readIpvs, nftTables, lookUpElement } = readers
  const source = { run, readIpvs, nftTables, lookUpElement, sysctl: new ProcSysctl() }
  try {
    return await readFacts(options, source, client)
  } finally {
    client.close()
    await readers.close()
  }
}

async function readFacts(
  options: FactsOptions,
  source: NodeSource,
  client: InspectionClient,
): Promise<NodeFacts> {
  const parts = collectParts()
  const growing = parts.read('counters', undefined, () =>
    readGrowth(source.run, client, options.seconds),
  )
  const sample = new SampledEntries()
  const daemon = await readDaemon(client, (entry) => sample.take(entry))
  const known = typeof daemon === 'string' ? undefined : daemon
  const kernel = await readKernel(options, source, { parts, known })
  const packets = await parts.read('packets', NO_PACKETS, async () =>
    known?.rules === undefined
      ? NO_PACKETS
      : readPackets(
          { source, client, sample, rules: known.rules, world: await readWorld(source) },
          { uplink: kernel.uplink, connects: options.connects, client: options.client },
        ),
  )
  const ports = { run: source.run, socket: options.socket, owners: sample.nodePortOwners }
  const taken = await parts.read('sockets', [], () => readTakenPorts(ports))
  const growth = await growing
  const loads =
    growth === undefined ? [] : loadsBetween(growth.before, growth.after, sample.affinitySeconds)
  return {
    format: FACTS_FORMAT,
    kernel: release(),
    at: Date.now(),
    node: known?.nodeName ?? hostname(),
    version: known?.version ?? options.version,
    daemon: known?.facts,
    daemonAbsent: typeof daemon === 'string' ? daemon : '',
    loads,
    ...kernel,
    ...packets,
    takenPorts: taken,
    counters: growth?.counters,
    unread: parts.unread,
  }
}

interface Context {
  readonly parts: Parts
  readonly known: DaemonKnowledge | undefined
}

async function readKernel({ config }: FactsOptions, source: NodeSource, { parts, known }: Context) {
  const configuration =
    known?.configuration ??
    (await parts.read('configuration', undefined, () => readConfigured(config)))
  const settings = await parts.read('settings', {}, () => readSettings(source.sysctl))
  const scheduler = configuration?.scheduler ?? ''
  return {
    configuration,
    settings,
    conntrack: conntrackOf(settings),
    hasIpvs: existsSync('/proc/self/net/ip_vs'),
    modules: await parts.read('modules', {}, () => readModules(scheduler)),
    interfaces: await parts.read('interfaces', [], () => readInterfaces(source)),
    uplink: await parts.read('routes', '', () => readUplink(source)),
    rules: await parts.read('rules', [], () => readRules(source)),
    masquerades: await parts.read('masquerades', [], () => readMasquerades(source)),
    proxies: await parts.read('other proxies', [], readProxies),
  }
}

function conntrackOf(settings: NodeFacts['settings']): NodeFacts['conntrack'] {
  const count = Number(settings['net.netfilter.nf_conntrack_count'])
  const max = Number(settings['net.netfilter.nf_conntrack_max'])
  return Number.isFinite(count) && Number.isFinite(max) ? { count, max } : undefined
}

/** The kernel modules without which a mode cannot work. Nothing is loaded. */
async function readModules(scheduler: string): Promise<Readonly<Record<string, string>>> {
  const name = /^[a-z]{1,16}$/.test(scheduler) ? scheduler : 'rr'
  const runner = new Spawner()
  try {
    const names = ['ip_vs', `ip_vs_${name}`, 'ip_set', 'xt_set', 'nf_tables', 'br_netfilter']
    return Object.fromEntries(await new ProcModules(runner).states(names))
  } finally {
    await runner.close()
  }
}

/** Other Service proxies of this node. */
async function readProxies(): Promise<NodeFacts['proxies']> {
  const traces = new KernelTraces(rawTransport(NETLINK_NETFILTER), systemClock)
  try {
    const found = await findProxies(traces, [4, 6])
    return found.map(({ signature, traces: seen, pids }) => ({
      proxy: signature.proxy,
      remedy: signature.remedy,
      traces: seen,
      pids,
    }))
  } finally {
    traces.close()
  }
}

/** Settings by their names; those that the kernel does not have are left out. */
export function readSettings(sysctl: Pick<Sysctl, 'read'>): Readonly<Record<string, string>> {
  const found = SETTINGS.flatMap((name) => {
    const value = sysctl.read(name.replaceAll('.', '/'))
    return value === undefined ? [] : [[name, value] as const]
  })
  return Object.fromEntries(found)
}

/** A part of the facts that could not be read. */
interface UnreadPart {
  readonly what: string
  readonly why: string
}

/** Reads parts, each of which may fail by itself. */
interface Parts {
  /** What could not be read so far. */
  readonly unread: readonly UnreadPart[]
  /** Returns what `read` returns, or `otherwise` when it fails. */
  read<T>(what: string, otherwise: T, read: () => T | Promise<T>): Promise<T>
}

function collectParts(): Parts {
  const unread: UnreadPart[] = []
  return {
    unread,
    async read(what, otherwise, read) {
      try {
        return await read()
      } catch (error) {
        unread.push({ what, why: error instanceof Error ? error.message : quote(error) })
        return otherwise
      }
    },
  }
}

/** What `readTakenPorts` compares. */
interface PortOwners {
  readonly run: RunCommand
  /** The inspection socket, by which the process of node-proxy is recognised. */
  readonly socket: string
  /** Ids of entries by `TCP/30080`. */
  readonly owners: ReadonlyMap<string, string>
}

/** Sockets of other processes that listen on node ports. Those whose process is not visible are left out. */
async function readTakenPorts({
  run,
  socket,
  owners,
}: PortOwners): Promise<NodeFacts['takenPorts']> {
  if (owners.size === 0) return []
  const own = await processAtSocket(run, socket)
  if (own === 0) return []
  const listeners = await readListeners(run)
  return listeners
    .flatMap((one) => {
      const entry = owners.get(`${one.protocol}/${one.port}`)
      return entry === undefined || one.pid === 0 || one.pid === own ? [] : [{ ...one, entry }]
    })
    .slice(0, MAX_TAKEN)
}

/** A listening TCP socket or unconnected UDP socket, with its process if that is visible. */
interface ListeningProcess {
  readonly protocol: Protocol
  readonly address: string
  readonly port: number
  /** Empty: not visible. */
  readonly process: string
  /** 0: not visible. */
  readonly pid: number
}

/** Columns of `ss -Hlntup`: protocol, state, two queues, local address, remote address, `users:(("NAME",pid=N,fd=N))`. */
export async function readListeners(run: RunCommand): Promise<readonly ListeningProcess[]> {
  const { status, stdout } = await run('ss', ['-Hlntup'])
  if (status !== 0) return []
  return stdout.split('\n').flatMap((line) => {
    const [kind = '', , , , local = ''] = line.trim().split(/\s+/)
    const port = Number(local.slice(local.lastIndexOf(':') + 1))
    if ((kind !== 'tcp' && kind !== 'udp') || !Number.isInteger(port)) return []
    const protocol: Protocol = kind === 'tcp' ? 'TCP' : 'UDP'
    const address = local.slice(0, local.lastIndexOf(':'))
    return [{ protocol, address, port, ...processOf(line) }]
  })
}

/** The id of the process that listens on a Unix socket; 0: not visible. */
export async function processAtSocket(run: RunCommand, path: string): Promise<number> {
  const { status, stdout } = await run('ss', ['-Hxlp'])
  if (status !== 0) return 0
  const line = stdout.split('\n').find((one) => one.split(/\s+/).includes(path))
  return line === undefined ? 0 : processOf(line).pid
}

function processOf(line: string): Pick<ListeningProcess, 'process' | 'pid'> {
  const [, process = '', pid = '0'] = /users:\(\("([^"]*)",pid=(\d+)/.exec(line) ?? []
  return { process, pid: Number(pid) }
}

type RuleCount = NodeFacts['rules'][number]

/** How many rules each program lists, and how many of them node-proxy wrote. A missing program lists none. */
export async function readRules({
  run,
  nftTables,
}: Pick<NodeSource, 'run' | 'nftTables'>): Promise<readonly RuleCount[]> {
  const counts: RuleCount[] = []
  for (const program of XTABLES) {
    const { status, stdout } = await run(`${program}-save`, ['-c'])
    if (status === 0) counts.push(countXtables(program, stdout))
  }
  const { text } = await listNftables(run, await nftTables(), { isTerse: true })
  counts.push(countNft(text))
  return counts.filter(({ own, others }) => own + others > 0)
}

function countXtables(program: string, listing: string): RuleCount {
  let own = 0
  let others = 0
  for (const [, rule = ''] of listing.matchAll(/^(?:\[[^\]]*\] )?-A (.*)$/gm)) {
    if (isOwnRule('', rule)) own++
    else others++
  }
  return { program, own, others }
}

/** Rules of tables that no iptables program lists. */
function countNft(listing: string): RuleCount {
  let own = 0
  let others = 0
  let table = ''
  for (const line of listing.split('\n')) {
    const head = /^table (\S+ \S+) \{/.exec(line)
    if (head !== null) table = `nft ${head[1]}`
    if (!/^\t\t.* # handle \d+$/.test(line) || OF_IPTABLES.test(table)) continue
    if (isOwnRule(table, '')) own++
    else others++
  }
  return { program: 'nft', own, others }
}

/** The network interfaces by `ip -d link`, without those of address families, and their reverse path filter. */
export async function readInterfaces({
  run,
  sysctl,
}: Pick<NodeSource, 'run' | 'sysctl'>): Promise<readonly InterfaceFacts[]> {
  const links = await readJson(run, ['-d', 'link'])
  const ofAll = filterOf(sysctl, 'all')
  return links.map((link) => interfaceOf(link, Math.max(ofAll, filterOf(sysctl, nameOf(link)))))
}

/** The interface of the default route; empty: there is none. */
export async function readUplink({ run }: Pick<NodeSource, 'run'>): Promise<string> {
  const four = await readJson(run, ['-4', 'route', 'show', 'default'])
  const routes = four.length > 0 ? four : await readJson(run, ['-6', 'route', 'show', 'default'])
  return textOf(routes[0] ?? {}, 'dev') ?? ''
}

function nameOf(link: JsonObject): string {
  return textOf(link, 'ifname') ?? ''
}

function interfaceOf(link: JsonObject, rpFilter: number): InterfaceFacts {
  const info = objectAt(link as Json, 'linkinfo')
  const flags = link['flags']
  return {
    name: nameOf(link),
    kind: stringAt(info, 'info_kind'),
    mtu: Number(link['mtu'] ?? 0),
    master: textOf(link, 'master') ?? '',
    lower: stringAt(info, 'info_data', 'link') || (textOf(link, 'link') ?? ''),
    isUp: Array.isArray(flags) && flags.includes('UP'),
    isTunnelV6: ['local6', 'remote6', 'group6'].some(
      (name) => valueAt(info, 'info_data', name) !== undefined,
    ),
    rpFilter,
  }
}

/** The rp_filter of an interface; 0 when the interface has gone, or has a name that a sysctl cannot have. */
function filterOf(sysctl: Pick<Sysctl, 'read'>, name: string): number {
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(name)) return 0
  return Number(sysctl.read(`net/ipv4/conf/${name}/rp_filter`) ?? 0)
}
