import { hostname, networkInterfaces } from 'node:os'
import { join } from 'node:path'
import type { ApiClient } from '../../client/api-client.ts'
import type { Clock } from '../../lib/clock.ts'
import { familyOf } from '../../lib/ip.ts'
import { systemRandom } from '../../lib/random.ts'
import { createNodeAgent } from '../../nodeagent/node-agent.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { OrchServerConfiguration } from '../config/configuration.ts'
import { machineAddresses } from './machine-addresses.ts'

export interface NodeAgentParts {
  readonly config: OrchServerConfiguration
  /** Of this server. */
  readonly client: ApiClient
  readonly clock: Clock
  readonly log: Logger
}

export interface RunningNodeAgent {
  /** Ends the Pods, as gracefully as they ask for within ten seconds. */
  close(): Promise<void>
}

/**
 * Makes this machine a node. What keeps it from being one ends it alone: the API
 * goes on, and the log says why.
 * @throws NP_ORCHSERVER_NODE_ADDRESS
 */
export function runNodeAgent({ config, client, clock, log }: NodeAgentParts): RunningNodeAgent {
  const { name, addresses, podCIDRs, bridge, namespacePrefix } = config.sandboxNode
  const families = podCIDRs.map(familyOf)
  const agent = createNodeAgent({
    ...{ client, clock, podCIDRs, bridge, namespacePrefix },
    random: systemRandom,
    logger: log,
    nodeName: name || hostname().toLowerCase(),
    networkNamespace: undefined,
    addresses: addresses.length > 0 ? addresses : machineAddresses(networkInterfaces(), families),
    labels: {},
    logFolder: join(config.dataDir, 'pod-logs'),
    bindsPods: true,
    onError: (err) => log.error({ err }, 'the node agent failed at something'),
  })
  log.warn(
    'every user of this machine can run processes as root through this server: it runs Pods, and there is no authentication yet',
  )
  const stop = new AbortController()
  const running = agent
    .run(stop.signal)
    .catch((err: unknown) => log.error({ err }, 'this machine is no node'))
  return {
    async close() {
      stop.abort()
      await running
    },
  }
}
