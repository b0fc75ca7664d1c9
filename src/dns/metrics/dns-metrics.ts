import type { Counter, Registry } from 'prom-client'
import type { CredentialKind } from '../../client/connection/credential/credential.ts'
import { lateFrom, type Validity } from '../../client/connection/credential/validity.ts'
import { histogramText } from '../../telemetry/metrics/counted-histogram.ts'
import { createRegistry, type MetricsOf } from '../../telemetry/metrics/registry.ts'
import type { ForwardingStatistics, Statistics } from '../server/statistics.ts'
import { DNS_METRICS } from './dns-metric-table.ts'

/** The sources of the metrics, read at each request for them. */
export interface DnsMetricSource {
  readonly statistics: Statistics
  readonly isReady: () => boolean
  serviceCount(): number
  /** The credentials of the client that watches the API server; absent if it needs none. */
  readonly credentials?: () => Iterable<readonly [CredentialKind, Validity]>
}

/** The metrics of a DNS server as text. */
export interface DnsMetrics {
  readonly contentType: string
  text(): Promise<string>
}

const RCODES: readonly string[] = [
  'NOERROR',
  'FORMERR',
  'SERVFAIL',
  'NXDOMAIN',
  'NOTIMP',
  'REFUSED',
  'YXDOMAIN',
  'YXRRSET',
  'NXRRSET',
  'NOTAUTH',
  'NOTZONE',
]
const BAD_VERSION = 16

const { duration: DURATION, ...REGISTERED } = DNS_METRICS

/**
 * The metrics of a server. A question only increments plain numbers; their increase is added to the counters
 * when the text is requested.
 */
export function createDnsMetrics(
  source: DnsMetricSource,
  { prefix, registry }: { readonly prefix: string; readonly registry?: Registry },
): DnsMetrics {
  const metrics = createRegistry(REGISTERED, prefix, registry)
  const { statistics } = source
  return {
    contentType: metrics.contentType,
    async text() {
      const { udp, tcp } = statistics.questions
      await raise(metrics.questions, { transport: 'udp' }, udp)
      await raise(metrics.questions, { transport: 'tcp' }, tcp)
      for (const [rcode, count] of statistics.responses.entries()) {
        if (count > 0) await raise(metrics.responses, { rcode: rcodeName(rcode) }, count)
      }
      for (const [reason, count] of statistics.refusals)
        await raise(metrics.refusals, { reason }, count)
      await raise(metrics.truncated, {}, statistics.truncated)
      await raise(metrics.limited, {}, statistics.limited)
      await raise(metrics.failures, {}, statistics.failures)
      await raiseForwarding(metrics, statistics.forwarding)
      await raise(metrics.connections, { outcome: 'accepted' }, statistics.connections)
      await raise(metrics.connections, { outcome: 'refused' }, statistics.refusedConnections)
      metrics.services.set(source.serviceCount())
      metrics.synced.set(source.isReady() ? 1 : 0)
      metrics.credentialExpiration.reset()
      metrics.credentialLate.reset()
      for (const [kind, validity] of source.credentials?.() ?? []) {
        metrics.credentialExpiration.set({ kind }, validity.to / 1_000)
        metrics.credentialLate.set({ kind }, lateFrom(kind, validity) / 1_000)
      }
      const name = prefix + DURATION.name
      const durations = { name, help: DURATION.help, label: 'domain', rows: statistics.durations }
      return (await metrics.text()) + histogramText(durations)
    },
  }
}

async function raiseForwarding(
  metrics: Pick<
    MetricsOf<typeof REGISTERED>,
    'forwarded' | 'upstreamQueries' | 'upstreamDiscarded' | 'cacheEvictions'
  >,
  { results, attempts, discarded, evicted }: ForwardingStatistics,
): Promise<void> {
  for (const [result, count] of results) await raise(metrics.forwarded, { result }, count)
  for (const [key, count] of attempts) {
    const [upstream = '', result = ''] = key.split(' ')
    await raise(metrics.upstreamQueries, { upstream, result }, count)
  }
  for (const [key, count] of discarded) {
    const [upstream = '', reason = ''] = key.split(' ')
    await raise(metrics.upstreamDiscarded, { upstream, reason }, count)
  }
  await raise(metrics.cacheEvictions, {}, evicted)
}

/** Raises a counter to a number that only grows. */
async function raise<L extends string>(
  counter: Counter<L>,
  labels: Partial<Record<L, string>>,
  total: number,
): Promise<void> {
  const { values } = await counter.get()
  const keys = Object.entries(labels)
  const known = values.find((value) =>
    keys.every(([key, text]) => (value.labels as Record<string, unknown>)[key] === text),
  )
  counter.inc(labels, total - (known?.value ?? 0))
}

function rcodeName(rcode: number): string {
  return rcode === BAD_VERSION ? 'BADVERS' : (RCODES[rcode] ?? `RCODE${rcode}`)
}
