import type { Traces } from '../../kernel/traces.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Family } from '../../lib/ip.ts'
import { regularly } from '../../lib/regularly.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { type FoundProgram, findPrograms, type ProgramSignature } from './foreign-programs.ts'

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
function describeProxies(
  found: readonly FoundProgram<Signature>[],
  heldPorts: readonly number[],
): string {
  const descriptions = found.map((proxy) => describeProxy(proxy, heldPorts))
  return (
    `another Service proxy is on this node: ${descriptions.join('; ')}. ` +
    `The proxy that started last decides where packets go, and rules without a process go stale; see ${PAGE}`
  )
}

function describeProxy(
  { signature, traces, pids }: FoundProgram<Signature>,
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

/** Looks for every known proxy, and for its processes only when anything else of it was found. */
export function findProxies(
  traces: Traces,
  families: readonly Family[],
): Promise<readonly FoundProgram<Signature>[]> {
  return findPrograms(SIGNATURES, traces, families)
}

/** How to recognise another Service proxy on a node. */
interface Signature extends ProgramSignature {
  readonly proxy: string
  /** How an operator removes it permanently. */
  readonly remedy: string
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
