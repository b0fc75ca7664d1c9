import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { DnsMetrics } from '../dns/metrics/dns-metrics.ts'
import type { SocketAddress } from '../settings/network-types.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type Routes, serveRoutes, textPage } from '../telemetry/pages/routes.ts'

/** What the pages show, read at each request. */
export interface StatusSources {
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
export interface StatusServer {
  readonly port: number
  close(): Promise<void>
}

/**
 * Serves /metrics, /healthz, /livez and /readyz; only the last one knows whether names are answered.
 * @throws the system's error when the address cannot be used
 */
export async function openStatusServer(
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
      ...{ code: 200, contentType: metrics.contentType },
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
