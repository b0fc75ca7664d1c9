import { expect, test } from 'vitest'
import { hasProgram } from '../../support/on-demand/has-program.ts'
import type { Series } from './cases.ts'
import { promtool } from './promtool.ts'

const canRun = hasProgram('promtool', 'prometheus')

interface RecordedCase {
  readonly title: string
  readonly series: Series
  /** At minute 60; values by expression, a number where there is one series. */
  readonly expected: Readonly<Record<string, number>>
}

const programming = (le: string, instance = 'a') =>
  `nodeproxy_network_programming_duration_seconds_bucket{cluster="c",instance="${instance}",ip_family="IPv4",le="${le}"}`
const request = (code: string) =>
  `apiserver_request_total{cluster="c",instance="a",verb="GET",resource="pods",code="${code}"}`
const duration = (verb: string, le: string) =>
  `apiserver_request_duration_seconds_bucket{cluster="c",instance="a",verb="${verb}",le="${le}"}`
const ratio = (slo: string, window: string) =>
  `cluster_slo:slo_errors_per_events:ratio_rate${window}{slo="${slo}"}`
const WINDOWS = ['5m', '30m', '1h', '2h', '6h', '1d', '3d', '30d']

const CASES: readonly RecordedCase[] = [
  {
    title: 'one request of two hundred fails: five times the budget, in every window',
    series: { [request('200')]: '0+199x60', [request('503')]: '0+1x60' },
    expected: {
      ...Object.fromEntries(WINDOWS.map((window) => [ratio('api-availability', window), 0.005])),
      'cluster_slo:slo_error_budget_remaining:ratio_rate30d{slo="api-availability"}': -4,
      'cluster_instance_verb_code:apiserver_request:rate5m{code="503"}': 1 / 60,
    },
  },
  {
    title: 'without a request nothing fails, and without a failure nothing is used',
    series: { [request('200')]: '7x60' },
    expected: {
      [ratio('api-availability', '5m')]: 0,
      [ratio('api-availability', '30d')]: 0,
      'cluster_slo:slo_error_budget_remaining:ratio_rate30d{slo="api-availability"}': 1,
    },
  },
  {
    title: 'of slow requests lists do not count',
    series: {
      [duration('GET', '1.024')]: '0+90x60',
      [duration('GET', '+Inf')]: '0+100x60',
      [duration('LIST', '1.024')]: '0x60',
      [duration('LIST', '+Inf')]: '0+100x60',
    },
    expected: { [ratio('api-latency', '1h')]: 0.1 },
  },
  {
    title: 'questions of both DNS servers count, and what upstreams refuse is no error',
    series: {
      'orchdns_questions_total{instance="d",transport="udp"}': '0+60x60',
      'orchserver_dns_questions_total{instance="a",transport="udp"}': '0+60x60',
      'orchdns_refusals_total{instance="d",reason="not-ready"}': '0+6x60',
      'orchdns_refusals_total{instance="d",reason="overload"}': '0+30x60',
      'orchserver_dns_failures_total{instance="a"}': '0+6x60',
    },
    expected: {
      'sum(cluster_instance_transport:dns_questions:rate5m)': 2,
      [ratio('dns-availability', '1h')]: 0.1,
    },
  },
  {
    title: 'answers about the cluster within 25 milliseconds count, other names do not',
    series: {
      'orchdns_request_duration_seconds_bucket{instance="d",domain="cluster",le="0.025"}':
        '0+99x60',
      'orchdns_request_duration_seconds_bucket{instance="d",domain="cluster",le="+Inf"}':
        '0+100x60',
      'orchdns_request_duration_seconds_bucket{instance="d",domain="other",le="0.025"}': '0x60',
      'orchdns_request_duration_seconds_bucket{instance="d",domain="other",le="+Inf"}': '0+100x60',
    },
    expected: { [ratio('dns-latency', '1h')]: 0.01 },
  },
  {
    title: 'programming latency of each node and of all, from the same buckets',
    series: {
      [programming('1')]: '0+60x60',
      [programming('5')]: '0+60x60',
      [programming('+Inf')]: '0+60x60',
      [programming('1', 'b')]: '0x60',
      [programming('5', 'b')]: '0+30x60',
      [programming('+Inf', 'b')]: '0+60x60',
    },
    expected: {
      [ratio('programming-latency', '1h')]: 0.25,
      'cluster_instance_quantile:nodeproxy_network_programming_duration_seconds:histogram_quantile{instance="a",quantile="0.5"}': 0.5,
      'cluster_instance_quantile:nodeproxy_network_programming_duration_seconds:histogram_quantile{instance="b",quantile="0.5"}': 5,
      'cluster_quantile:nodeproxy_network_programming_duration_seconds:histogram_quantile{quantile="0.5"}': 1,
    },
  },
]

function history({ title, series, expected }: RecordedCase) {
  return {
    interval: '1m',
    name: title,
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: Object.entries(expected).map(([expr, value]) => ({
      // Rounded, because promtool compares floating-point numbers bit by bit.
      expr: `round(sum(${expr}), 1e-6)`,
      eval_time: '60m',
      exp_samples: [{ labels: '{}', value: Math.round(value * 1e6) / 1e6 }],
    })),
  }
}

test.runIf(canRun)('rules record what histories of requests, questions and changes make', () => {
  expect(promtool(['recording-rules.yaml'], CASES.map(history))).toEqual({
    status: 0,
    said: expect.stringContaining('SUCCESS'),
  })
})

test.runIf(canRun)('a value that is not recorded is reported', () => {
  const one = {
    title: 'wrong',
    series: { [request('200')]: '0+1x60' },
    expected: { [ratio('api-availability', '1h')]: 0.5 },
  }
  expect(promtool(['recording-rules.yaml'], [history(one)])).toMatchObject({ status: 1 })
})
