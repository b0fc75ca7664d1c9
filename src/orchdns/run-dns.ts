import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Connection } from '../client/connection/connection.ts'
import { loadConnection } from '../client/connection/load-connection.ts'
import { createApiClient } from '../client/http/api-client.ts'
import { ApiFailures } from '../client/http/api-failures.ts'
import { noObserver } from '../client/http/client-observer.ts'
import { CredentialRenewal } from '../client/http/credential-renewal.ts'
import { type ClusterDns, openClusterDns } from '../dns/cluster-dns.ts'
import { createDnsMetrics, type DnsMetrics } from '../dns/metrics/dns-metrics.ts'
import { systemClock as clock, sleep } from '../lib/clock.ts'
import { createServer } from '../lib/http/node-http.ts'
import { hostPort } from '../lib/ip.ts'
import { firstSignal, releaseMemoryOf } from '../lib/process.ts'
import { systemRandom as random } from '../lib/random.ts'
import type { SocketAddress } from '../settings/network-types.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type Routes, serveRoutes, textPage } from '../telemetry/pages-routes.ts'
import type { OrchDnsConfiguration } from './configuration.ts'

/**
 * Serves until a signal arrives, and for `shutdownDelay` after it. A signal during the start counts, too; a second one
 * ends the process at once.
 */
export async function runDns(
  config: OrchDnsConfiguration,
  log: Logger,
  version: string,
): Promise<void> {
  const stop = firstSignal(['SIGTERM', 'SIGINT'])
  const connection = await loadConnection({
    kubeconfig: config.kubeconfig,
    master: undefined,
    env: process.env,
    clock,
  })
  log.info({ version, server: connection.origin, domain: config.dns.domain }, 'orch-dns starts')
  await using held = new AsyncDisposableStack()
  const state = { isReady: false, isStopping: false }
  let credentialProblems: readonly string[] = []
  const renewal = createRenewal(connection, log, (problems) => {
    credentialProblems = problems
  })
  const client = createApiClient({
    connection,
    clock,
    userAgent: `orch-dns/${version}`,
    observer: { ...noObserver, authenticated: (...use) => renewal.authenticated(...use) },
  })
  held.defer(() => client.close())
  renewal.start(client)
  held.defer(() => renewal.close())
  const dns = await openClusterDns({
    config: config.dns,
    client,
    clock,
    random,
    reporter: new ApiFailures({ clock, log, server: connection.origin }),
    onWarning: (warning) => log.warn(warning),
    onError: (err) => log.error({ err }, 'a query got no answer because of an error'),
    onProblem: (problem) =>
      log.warn({ problem }, 'the DNS names of an object are missing or incomplete'),
  })
  held.defer(() => dns.close())
  const metrics = createDnsMetrics(
    { ...dns, isReady: () => state.isReady, credentials: () => renewal.inUse() },
    { prefix: 'orchdns_' },
  )
  if (config.statusAddress !== undefined) {
    const problems = () => [...dns.upstreamProblems(), ...credentialProblems]
    const status = await openStatusServer(config.statusAddress, { state, metrics, log, problems })
    held.defer(() => status.close())
    log.info({ address: hostPort(config.statusAddress.ip, status.port) }, 'status pages are served')
  }
  void dns.ready.then(() => {
    state.isReady = true
    logReady(dns, log)
  })
  held.defer(releaseMemoryOf({ isOver: () => state.isReady }, clock))
  const signal = await stop
  state.isStopping = true
  log.info({ signal, delayMs: config.shutdownDelay }, 'orch-dns stops')
  await sleep(clock, config.shutdownDelay)
}

/** Renews the credential, and logs its problems. */
function createRenewal(
  connection: Connection,
  log: Logger,
  onProblems: (problems: readonly string[]) => void,
): CredentialRenewal {
  return new CredentialRenewal({
    connection,
    clock,
    random,
    log,
    onProblems(problems) {
      onProblems(problems)
      for (const problem of problems) log.warn(problem)
      if (problems.length === 0) log.info('the credential for the API server is valid again')
    },
  })
}

function logReady(dns: ClusterDns, log: Logger): void {
  const addresses = dns.addresses.map(({ ip, port }) => hostPort(ip, port))
  log.info({ addresses, services: dns.serviceCount() }, 'orch-dns is ready')
}

/** The state that the status pages show, read at each request. */
interface StatusSources {
  /** Ready: all names are known. Stopping: the signal to stop arrived. */
  readonly state: { readonly isReady: boolean; readonly isStopping: boolean }
  /**
   * A sentence for each upstream that does not answer, and for each credential that ends soon: names of the cluster are
   * answered all the same.
   */
  readonly problems: () => readonly string[]
  readonly metrics: DnsMetrics
  readonly log: Logger
}

/** A server of status pages. */
interface StatusServer {
  readonly port: number
  close(): Promise<void>
}

/**
 * Serves /metrics, /healthz, /livez and /readyz; only the last one knows whether names are answered.
 * @throws the system's error when the address cannot be used
 */
async function openStatusServer(
  { ip, port }: SocketAddress,
  sources: StatusSources,
): Promise<StatusServer> {
  const server = createServer(
    serveRoutes(routes(sources), (error) =>
      sources.log.error({ err: error }, 'answering a request for a status page failed'),
    ),
  )
  server.listen({ host: ip, port })
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

function routes({ state, metrics, problems }: StatusSources): Routes {
  return {
    '/metrics': async () => ({
      code: 200,
      contentType: metrics.contentType,
      body: await metrics.text(),
    }),
    '/healthz': () => textPage(200, 'ok\n'),
    '/livez': () => textPage(200, 'ok\n'),
    '/readyz': () => {
      if (state.isStopping) return textPage(503, 'stopping\n')
      return state.isReady
        ? textPage(200, ['ok', ...problems(), ''].join('\n'))
        : textPage(503, 'the names are not known yet: Services or endpoints were not listed\n')
    },
  }
}
