import { Registry } from 'prom-client'
import type { User } from '../auth/user.ts'
import type { ApiClient } from '../client/http/api-client.ts'
import { ApiFailures } from '../client/http/api-failures.ts'
import type { DnsSettings } from '../dns/dns-fields.ts'
import type { Clock } from '../lib/clock.ts'
import { hostPort } from '../lib/ip.ts'
import { systemRandom as random } from '../lib/random.ts'
import type { Logger } from '../telemetry/logger.ts'
import { dnsUser } from './access/component-tokens.ts'

export interface StartDnsOptions {
  readonly config: DnsSettings
  /** A client of this server that acts as `user`; the caller closes it. */
  readonly clientOf: (component: string, user: User) => ApiClient
  readonly clock: Clock
  readonly log: Logger
}

/** The DNS server in this process. */
export interface RunningDns {
  metricsText(): Promise<string>
  close(): Promise<void>
}

/**
 * Starts answering the names of Services; undefined: the configuration has no address for it.
 * @throws NP_DNS_LISTEN
 */
export async function startDns({
  config,
  clientOf,
  clock,
  log,
}: StartDnsOptions): Promise<RunningDns | undefined> {
  if (config.addresses.length === 0) return undefined
  const { openClusterDns } = await import('../dns/cluster-dns.ts')
  const { createDnsMetrics } = await import('../dns/metrics/dns-metrics.ts')
  const client = clientOf('dns', dnsUser)
  let isReady = false
  const fields = { client: 'dns' }
  const dns = await openClusterDns({
    config,
    client,
    clock,
    random,
    reporter: new ApiFailures({ clock, log, server: client.server, fields }),
    onWarning: (warning) => log.warn(warning),
    onError: (err) => log.error({ err }, 'a query got no answer because of an error'),
    onProblem: (problem) =>
      log.warn({ problem }, 'the DNS names of an object are missing or incomplete'),
  })
  void dns.ready.then(() => {
    isReady = true
    const addresses = dns.addresses.map(({ ip, port }) => hostPort(ip, port))
    log.info({ addresses, services: dns.serviceCount() }, 'names of Services are answered')
  })
  const metrics = createDnsMetrics(
    { ...dns, isReady: () => isReady },
    { prefix: 'orchserver_dns_', registry: new Registry() },
  )
  return { metricsText: () => metrics.text(), close: () => dns.close() }
}
