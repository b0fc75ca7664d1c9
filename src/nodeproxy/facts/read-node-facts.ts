import { existsSync } from 'node:fs'
import { hostname, release } from 'node:os'
import { FACTS_FORMAT, type NodeFacts } from '../../doctor/evidence/node-facts.ts'
import { openLocalReaders } from '../../explain/world/local-readers.ts'
import { readWorld } from '../../explain/world/read-world.ts'
import { type InspectionClient, openInspection } from '../../inspection/client/inspection-client.ts'
import { ProcSysctl } from '../../kernel/sysctl/proc-sysctl.ts'
import type { IpAddress } from '../../lib/ip.ts'
import { type DaemonKnowledge, readDaemon } from './daemon/daemon-knowledge.ts'
import { readConfigured } from './daemon/read-configured.ts'
import { loadsBetween } from './daemon/read-loads.ts'
import { type NodeSource, rememberCommands } from './kernel/node-source.ts'
import { readInterfaces, readUplink } from './kernel/read-interfaces.ts'
import { readMasquerades } from './kernel/read-masquerades.ts'
import { readModules } from './kernel/read-modules.ts'
import { readProxies } from './kernel/read-proxies.ts'
import { readRules } from './kernel/read-rules.ts'
import { readSettings } from './kernel/read-settings.ts'
import { readPackets } from './packets/read-packets.ts'
import { SampledEntries } from './packets/sampled-entries.ts'
import { readTakenPorts } from './packets/taken-ports.ts'
import { collectParts, type Parts } from './parts.ts'
import { readGrowth } from './read-growth.ts'

/** What is read beside the usual. */
export interface FactsOptions {
  /** Of this program. */
  readonly version: string
  /** The `inspection.socket` of node-proxy. */
  readonly socket: string
  /** Its configuration file, which counts where it does not run. */
  readonly config: string | undefined
  /** Whether to connect to the backends of this node. */
  readonly connects: boolean
  /** Seconds between two reads of counters. */
  readonly seconds: number
  /** A client outside whose packets are followed. */
  readonly client: IpAddress | undefined
}

/**
 * Evidence about this node: one snapshot of the kernel and of node-proxy, and counters twice. Nothing is written; what
 * cannot be read is named in `unread`.
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
  const packets = await parts.read('packets', {}, async () =>
    known?.rules === undefined
      ? {}
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
    ...{ format: FACTS_FORMAT, kernel: release(), at: Date.now() },
    ...{ node: known?.nodeName ?? hostname(), version: known?.version ?? options.version },
    ...{ daemon: known?.facts, daemonAbsent: typeof daemon === 'string' ? daemon : '' },
    ...{ walks: [], connects: [], localBackends: [], loads },
    ...{ ...kernel, ...packets, takenPorts: taken, counters: growth?.counters },
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
    ...{ configuration, settings, conntrack: conntrackOf(settings) },
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
