import { hostname } from 'node:os'
import { join } from 'node:path'
import type { User } from '../auth/user.ts'
import type { ApiClient } from '../client/http/api-client.ts'
import { ApiFailures } from '../client/http/api-failures.ts'
import type { Clock } from '../lib/clock.ts'
import { familyOf, type IpAddress } from '../lib/ip.ts'
import { systemRandom } from '../lib/random.ts'
import { isSpecialAddress } from '../lib/special-address.ts'
import { createNodeAgent } from '../nodeagent/node-agent.ts'
import type { ClusterResolver } from '../resources/pod-dns.ts'
import type { SocketAddress } from '../settings/network-types.ts'
import type { NodeStreams } from '../streams/node-streams.ts'
import type { Logger } from '../telemetry/logger.ts'
import { nodeAgentUser } from './access/component-tokens.ts'
import type { OrchServerConfiguration } from './config/configuration.ts'
import { createFailureLog } from './system/failure-log.ts'
import { type Interfaces, machineAddresses } from './system/machine-addresses.ts'
import type { ProcessMetrics } from './system/process-metrics.ts'

/** The port of every name server in a resolv.conf. */
const DNS_PORT = 53
const ANY: readonly string[] = ['0.0.0.0', '::']

export interface NodeAgentParts {
  readonly config: OrchServerConfiguration
  /** A client of this server that acts as `user`; the caller closes it. */
  readonly clientOf: (component: string, user: User) => ApiClient
  /** The network interfaces of this machine. */
  readonly interfaces: Interfaces
  /** Receives the streams of the agent's Pods while it runs, by the name of the node. */
  readonly nodes: Map<string, NodeStreams>
  readonly metrics: Pick<ProcessMetrics, 'nodeAgent'>
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
}

export interface RunningNodeAgent {
  /** Ends the Pods with their grace periods, but in ten seconds at most. */
  close(): Promise<void>
}

/**
 * Makes this machine a node. A failure, such as a missing address or missing tools, ends only the node agent:
 * the API continues, the log holds the reason, and a metric is 0.
 */
export function runNodeAgent(parts: NodeAgentParts): RunningNodeAgent {
  const { config, metrics, log } = parts
  const node = config.sandboxNode.name || hostname().toLowerCase()
  metrics.nodeAgent.set({ node }, 0)
  log.warn(
    'this machine runs Pods without a container: users who may create Pods here can run processes as root on it',
  )
  const stop = new AbortController()
  const running = run(parts, node, stop.signal)
    .catch((err: unknown) => log.error({ err }, 'this machine is not a node'))
    .finally(() => {
      parts.nodes.delete(node)
      metrics.nodeAgent.set({ node }, 0)
    })
  return {
    async close() {
      stop.abort()
      await running
    },
  }
}

async function run(parts: NodeAgentParts, node: string, signal: AbortSignal): Promise<void> {
  const { config, clientOf, clock, log, metrics, interfaces } = parts
  const { addresses, podCIDRs, bridge, namespacePrefix } = config.sandboxNode
  const found =
    addresses.length > 0 ? addresses : machineAddresses(interfaces, podCIDRs.map(familyOf))
  const fields = { client: 'node agent' }
  const client = clientOf('node agent', nodeAgentUser(node))
  const agent = createNodeAgent({
    reporter: new ApiFailures({ clock, log, server: client.server, fields }),
    client,
    clock,
    podCIDRs,
    bridge,
    namespacePrefix,
    random: systemRandom,
    logger: log,
    nodeName: node,
    networkNamespace: undefined,
    addresses: found,
    resolver: podResolver(config, found),
    labels: {},
    logFolder: join(config.dataDir, 'pod-logs'),
    volumeFolder: join(config.dataDir, 'pod-volumes'),
    onRegistered: () => metrics.nodeAgent.set({ node }, 1),
    onError: createFailureLog({ clock, log }, () => ({
      level: 'error',
      message: 'an operation of the node agent failed',
    })),
  })
  parts.nodes.set(node, agent.streams)
  await agent.run(signal)
}

/** How Pods on this machine resolve names. */
function podResolver(
  { dns, sandboxNode }: Pick<OrchServerConfiguration, 'dns' | 'sandboxNode'>,
  nodeAddresses: readonly IpAddress[],
): ClusterResolver {
  const { clusterDNS, resolvConf } = sandboxNode
  const own = dns.addresses.flatMap((address) => reachable(address, nodeAddresses))
  const nameservers = clusterDNS.length > 0 ? clusterDNS : own
  return { nameservers, domain: dns.domain, hostFile: resolvConf }
}

/**
 * The addresses at which Pods reach a DNS server that listens there. None for the loopback, because Pods have
 * their own.
 */
function reachable(
  { ip, port }: SocketAddress,
  nodeAddresses: readonly IpAddress[],
): readonly IpAddress[] {
  if (port !== DNS_PORT) return []
  if (ANY.includes(ip)) return nodeAddresses.filter((own) => familyOf(own) === familyOf(ip))
  return isSpecialAddress(ip) ? [] : [ip]
}
