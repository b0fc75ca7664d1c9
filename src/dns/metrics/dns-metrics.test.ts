import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createStatistics } from '../server/statistics.ts'
import { DNS_METRICS } from './dns-metric-table.ts'
import { createDnsMetrics } from './dns-metrics.ts'
import { DNS_PREFIX, dnsMetricsDocument } from './document.ts'

function metricsOf(statistics = createStatistics()) {
  const source = { statistics, isReady: () => true, serviceCount: () => 7 }
  return createDnsMetrics(source, { prefix: DNS_PREFIX, registry: new Registry() })
}

test('nothing is exported but what the table names', async () => {
  const helps = Object.values(DNS_METRICS).map(
    ({ name, help }) => `# HELP ${DNS_PREFIX}${name} ${help}`,
  )
  const text = await metricsOf().text()
  expect(text.split('\n').filter((line) => line.startsWith('# HELP'))).toEqual(helps)
})

test('docs/dns-metrics.md matches the table', async () => {
  await expect(dnsMetricsDocument()).toMatchFileSnapshot('../../../docs/dns-metrics.md')
})

test('numbers of the server become counters, however often they are read', async () => {
  const statistics = createStatistics()
  const metrics = metricsOf(statistics)
  statistics.questions.udp = 3
  statistics.responses[3] = 2
  statistics.responses[16] = 1
  statistics.refusals.set('network', 4)
  statistics.truncated = 5
  statistics.refusedConnections = 6
  statistics.forwarding.results.set('stale', 8)
  statistics.forwarding.attempts.set('10.0.0.1:53 timeout', 9)
  statistics.forwarding.discarded.set('10.0.0.1:53 id', 10)
  for (const seconds of [0.00009, 0.0001, 0.0011, 9]) statistics.durations.cluster.observe(seconds)
  await metrics.text()
  statistics.questions.udp = 11
  const lines = (await metrics.text()).split('\n')
  expect(lines).toEqual(
    expect.arrayContaining([
      'orchdns_questions_total{transport="udp"} 11',
      'orchdns_responses_total{rcode="NXDOMAIN"} 2',
      'orchdns_responses_total{rcode="BADVERS"} 1',
      'orchdns_refusals_total{reason="network"} 4',
      'orchdns_truncated_responses_total 5',
      'orchdns_tcp_connections_total{outcome="refused"} 6',
      'orchdns_forwarded_questions_total{result="stale"} 8',
      'orchdns_upstream_queries_total{upstream="10.0.0.1:53",result="timeout"} 9',
      'orchdns_upstream_discarded_messages_total{upstream="10.0.0.1:53",reason="id"} 10',
      'orchdns_request_duration_seconds_bucket{domain="cluster",le="0.0001"} 2',
      'orchdns_request_duration_seconds_bucket{domain="cluster",le="0.001"} 2',
      'orchdns_request_duration_seconds_bucket{domain="cluster",le="0.0025"} 3',
      'orchdns_request_duration_seconds_bucket{domain="cluster",le="5"} 3',
      'orchdns_request_duration_seconds_bucket{domain="cluster",le="+Inf"} 4',
      'orchdns_request_duration_seconds_sum{domain="cluster"} 9.00129',
      'orchdns_request_duration_seconds_count{domain="cluster"} 4',
      'orchdns_request_duration_seconds_count{domain="other"} 0',
      'orchdns_services 7',
      'orchdns_names_known 1',
    ]) as string[],
  )
})
