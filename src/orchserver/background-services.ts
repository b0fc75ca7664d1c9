import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import type { User } from '../auth/user.ts'
import type { ApiClient } from '../client/http/api-client.ts'
import { type IdentityContents, knownControllers } from '../controllers/known-controllers.ts'
import type { RunnerMetrics } from '../controllers/runner/observer.ts'
import type { Clock } from '../lib/clock.ts'
import type { Election } from '../storage/election.ts'
import type { NodeStreams } from '../streams/node-streams.ts'
import type { Logger } from '../telemetry/logger.ts'
import { controllerUser } from './access/component-tokens.ts'
import type { OwnSocket } from './access/own-socket.ts'
import type { CertificateNames } from './certificates/certificate-names.ts'
import { createRequestAuthority, permissionsOf } from './certificates/request-authority.ts'
import type { OrchServerConfiguration } from './config/configuration.ts'
import { isSelected } from './config/rules.ts'
import { runControllers } from './run-controllers.ts'
import { startDns } from './start-dns.ts'
import type { ProcessMetrics } from './system/process-metrics.ts'

/** The account of the controller that signs certificates for kubelets. */
const CERTIFIER = 'certificate-controller'

export interface BackgroundServicesOptions {
  readonly config: OrchServerConfiguration
  readonly socket: OwnSocket
  readonly version: string
  readonly election: Election
  readonly metrics: RunnerMetrics
  readonly processMetrics: ProcessMetrics
  /** Receives the streams of the node that runs in this process, by its name. */
  readonly nodes: Map<string, NodeStreams>
  readonly clock: Clock
  readonly log: Logger
  /** The names and addresses of this server, for which no node gets a certificate. */
  readonly reservedNames: CertificateNames
  /** The tokens in Secrets and the certificates that controllers provide to accounts; absent: they provide none. */
  readonly identity?: Omit<IdentityContents, 'requests'>
}

/** The running services; disposing ends all of them. */
export interface BackgroundServices extends AsyncDisposable {
  /** Metrics in the Prometheus text format. */
  metricsText(): Promise<string>
}

/**
 * Starts the controllers, the DNS server and the node agent. They are clients of the API in this process, each
 * with its own user. They end in the reverse order of their start.
 */
export async function startBackgroundServices(
  options: BackgroundServicesOptions,
): Promise<BackgroundServices> {
  const { config, socket, version, processMetrics, identity, nodes, reservedNames, ...shared } =
    options
  await using held = new AsyncDisposableStack()
  const clients = new Map<string, ApiClient>()
  const clientOf = (component: string, user: User): ApiClient =>
    clients.getOrInsertComputed(user.name, () => {
      const client = socket.client(`orch-server/${version} ${component}`, user)
      held.defer(() => client.close())
      return client
    })
  const clientOfAccount = (account: string): ApiClient => clientOf(account, controllerUser(account))
  const requests = createRequestAuthority({
    clock: shared.clock,
    folder: join(config.dataDir, 'pki'),
    maxLife: config.kubelet.certificateDuration,
    reserved: reservedNames,
    permits: permissionsOf(clientOfAccount(CERTIFIER)),
  })
  const running = runControllers({
    ...shared,
    clientOf: clientOfAccount,
    controllers: knownControllers(config, { ...identity, requests }).filter(({ name }) =>
      isSelected(name, config.controllers),
    ),
  })
  held.defer(() => running.close())
  const dns = await startDns({ config: config.dns, clientOf, clock: shared.clock, log: shared.log })
  if (dns !== undefined) held.defer(() => dns.close())
  if (config.sandboxNode.enabled) {
    const { runNodeAgent } = await import('./run-node-agent.ts')
    const agent = runNodeAgent({
      ...shared,
      config,
      nodes,
      metrics: processMetrics,
      interfaces: networkInterfaces(),
      clientOf,
    })
    held.defer(() => agent.close())
  }
  const started = held.move()
  return {
    metricsText: () => dns?.metricsText() ?? Promise.resolve(''),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}
