import type { TableName } from '../../kernel/iptables/iptables.ts'
import type { Traces } from '../../kernel/traces.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Family } from '../../lib/ip.ts'
import { regularly } from '../../lib/regularly.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { Logger } from '../../telemetry/logger.ts'

const PAGE = 'docs/operate/take-over.md'

/** Between two checks, each of about ten requests to the kernel. */
const EVERY_MS = 10_000

/** The reason of the condition. */
const FOREIGN_PROXY = 'foreign-service-proxy'

/** What `watchProxies` uses. */
interface ProxyWatchParts {
  readonly traces: Traces
  readonly families: readonly Family[]
  readonly conditions: Pick<Conditions, 'raise' | 'clear'>
  readonly clock: Clock
  readonly log: Pick<Logger, 'debug'>
  /** Ports of this daemon's status pages that another process has. */
  readonly heldPorts: () => readonly number[]
}

/** Searches for other Service proxies every ten seconds, and raises a condition while there is one. @returns stops it */
export function watchProxies(parts: ProxyWatchParts): () => void {
  const { clock, log } = parts
  const onError = (err: unknown) => log.debug({ err }, 'searching for other Service proxies failed')
  let stopped = false
  const round = () => look(parts, () => stopped)
  void round().catch(onError)
  const stop = regularly({ clock, everyMs: EVERY_MS, round, onError })
  return () => {
    stopped = true
    stop()
  }
}

async function look(parts: ProxyWatchParts, isStopped: () => boolean): Promise<void> {
  const { traces, families, conditions, heldPorts } = parts
  const found = await findProxies(traces, families)
  if (isStopped()) return
  if (found.length === 0) conditions.clear(FOREIGN_PROXY)
  else {
    const message = describeProxies(found, heldPorts())
    conditions.raise(FOREIGN_PROXY, { message, blocksReadiness: false })
  }
}

/** What an operator has to know of the proxies; `heldPorts`: ports of this daemon that other processes hold. */
function describeProxies(found: readonly FoundProxy[], heldPorts: readonly number[]): string {
  const descriptions = found.map((proxy) => describeProxy(proxy, heldPorts))
  return (
    `another Service proxy is on this node: ${descriptions.join('; ')}. ` +
    `The proxy that started last decides where packets go, and rules without a process go stale; see ${PAGE}`
  )
}

function describeProxy(
  { signature, traces, pids }: FoundProxy,
  heldPorts: readonly number[],
): string {
  const { proxy, remedy } = signature
  return `${proxy}, ${activity(pids, heldPorts)}: ${traces.join(', ')}; remedy: ${remedy}`
}

function activity(pids: readonly number[], heldPorts: readonly number[]): string {
  if (pids.length > 0) return `at work (pid ${pids.join(', ')})`
  if (heldPorts.length > 0) {
    return `probably at work (another process holds port ${heldPorts.join(', ')})`
  }
  return 'probably left behind (no process of it is visible from here)'
}

/** Only what the proxies make in order to serve Services; what they make for network policies alone is no sign. */
const SIGNATURES: readonly Signature[] = [
  {
    proxy: 'kube-proxy',
    process: 'kube-proxy',
    chains: [{ table: 'nat', chain: 'KUBE-SERVICES' }],
    nftTables: ['kube-proxy'],
    devices: ['kube-ipvs0'],
    remedy: 'stop it and run kube-proxy --cleanup',
  },
  {
    proxy: 'kube-router',
    process: 'kube-router',
    chains: [{ table: 'filter', chain: 'KUBE-ROUTER-SERVICES' }],
    nftTables: [],
    devices: ['kube-dummy-if'],
    remedy: 'start it with --run-service-proxy=false, then run kube-router --cleanup-config',
  },
  {
    proxy: 'Cilium',
    process: 'cilium-agent',
    chains: [],
    nftTables: [],
    devices: ['cilium_host'],
    remedy:
      'Cilium translates cluster IPs of its pods itself: set kubeProxyReplacement as the page says',
  },
]

/** Another Service proxy, and what was found of it. */
interface FoundProxy {
  readonly signature: Signature
  /** Each one as text: `chain KUBE-SERVICES in table nat of iptables-nft (IPv4)`. */
  readonly traces: readonly string[]
  /** Its processes in this network namespace that are visible to this process. */
  readonly pids: readonly number[]
}

/** Looks for every known proxy, and for its processes only when anything else of it was found. */
export async function findProxies(
  traces: Traces,
  families: readonly Family[],
): Promise<readonly FoundProxy[]> {
  const devices = await traces.devices()
  const found: Omit<FoundProxy, 'pids'>[] = []
  for (const signature of SIGNATURES) {
    const seen = [
      ...signature.devices.filter((name) => devices.has(name)).map((name) => `device ${name}`),
      ...(await chainsOf(signature, traces, families)),
      ...(await nftTablesOf(signature, traces, families)),
    ]
    if (seen.length > 0) found.push({ signature, traces: seen })
  }
  if (found.length === 0) return []
  const processes = await traces.processes(found.map(({ signature }) => signature.process))
  const pidsOf = ({ process }: Signature) =>
    processes.filter(({ name }) => name === process).map(({ pid }) => pid)
  return found.map((proxy) => ({ ...proxy, pids: pidsOf(proxy.signature) }))
}

async function chainsOf(
  { chains }: Signature,
  traces: Traces,
  families: readonly Family[],
): Promise<readonly string[]> {
  const places = chains.flatMap((place) => families.map((family) => ({ ...place, family })))
  const found = await Promise.all(
    places.map(async (place) =>
      (await traces.variantsWith(place)).map((variant) => chainText(place, variant)),
    ),
  )
  return found.flat()
}

async function nftTablesOf(
  { nftTables }: Signature,
  traces: Traces,
  families: readonly Family[],
): Promise<readonly string[]> {
  const places = nftTables.flatMap((name) => families.map((family) => ({ name, family })))
  const found = await Promise.all(
    places.map(async ({ name, family }) =>
      (await traces.hasNftTable(family, name))
        ? [`table ${family === 4 ? 'ip' : 'ip6'} ${name} of nftables`]
        : [],
    ),
  )
  return found.flat()
}

function chainText(
  place: { readonly family: Family; readonly table: TableName; readonly chain: string },
  variant: string,
): string {
  return `chain ${place.chain} in table ${place.table} of iptables-${variant} (IPv${place.family})`
}

/** How to recognise another Service proxy on a node. */
interface Signature {
  readonly proxy: string
  /** Its process, as the kernel names it. */
  readonly process: string
  readonly chains: readonly { readonly table: TableName; readonly chain: string }[]
  /** Tables of nftables, in the families `ip` and `ip6`. */
  readonly nftTables: readonly string[]
  readonly devices: readonly string[]
  /** How an operator removes it permanently. */
  readonly remedy: string
}
