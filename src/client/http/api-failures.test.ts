import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { createMetrics } from '../../telemetry/metrics/metrics.ts'
import { ApiFailures, type ApiOperation } from './api-failures.ts'
import { type ApiFailure, localFailure, statusFailure } from './failure.ts'

function setUp() {
  const clock = new FakeClock()
  const metrics = createMetrics()
  const records: string[] = []
  const at = (level: string) => (fields: Record<string, unknown>, message: string) =>
    records.push(`${level} ${message} ${JSON.stringify(fields['resources'] ?? fields['resource'])}`)
  const log = { info: at('info'), warn: at('warn'), error: at('error') } as never
  const failures = new ApiFailures({ clock, log, metrics, server: 'https://api' })
  return { clock, metrics, records, failures }
}

function watch(resource: string): ApiOperation {
  return { verb: 'watch', resource }
}

function forbidden(message: string): ApiFailure {
  return statusFailure(403, { kind: 'Status', reason: 'Forbidden', message })
}

const REFUSED = localFailure('NP_CLIENT_UNREACHABLE', 'ConnectionRefused', 'refused')

test('failures of the server are logged once, failures of a resource once for each resource', () => {
  const { records, failures } = setUp()
  for (const resource of ['services', 'nodes']) {
    failures.failed(watch(resource), REFUSED)
    failures.failed(watch(resource), forbidden(`no ${resource}`))
  }
  expect(records).toEqual([
    'warn cannot watch services: refused "services"',
    'error cannot watch services: 403 Forbidden: no services "services"',
    'error cannot watch nodes: 403 Forbidden: no nodes "nodes"',
  ])
})

test('the end of a failure is logged once for all its resources, after a success that lasts', async () => {
  const { clock, metrics, records, failures } = setUp()
  failures.failed(watch('services'), REFUSED)
  failures.failed(watch('nodes'), REFUSED)
  await clock.advance(4_000)
  failures.succeeded('services')
  await clock.advance(9_999)
  failures.failed(watch('services'), REFUSED)
  failures.succeeded('nodes')
  await clock.advance(10_000)
  expect(records).toHaveLength(1)
  failures.succeeded('services')
  failures.succeeded('services')
  await clock.advance(10_000)
  expect(records.slice(1)).toEqual([
    'info requests to the API server for nodes, services succeed again after 24 s ["nodes","services"]',
  ])
  expect([failures.present('services'), failures.present('nodes')]).toEqual([undefined, undefined])
  const text = await metrics.text()
  expect(text).toContain('nodeproxy_api_failures_total{resource="services",reason="refused"} 2\n')
  expect(text).toContain('nodeproxy_api_failing{resource="services",reason="refused"} 0\n')
})

test('an outage counts from its first failure, also when its reason changes', async () => {
  const { clock, metrics, records, failures } = setUp()
  failures.failed(watch('services'), REFUSED)
  await clock.advance(3_000)
  failures.failed(watch('services'), statusFailure(503, undefined))
  failures.succeeded('services')
  await clock.advance(10_000)
  expect(records.at(-1)).toContain('succeed again after 3 s')
  expect(await metrics.text()).toContain('{resource="services",reason="refused"} 0\n')
})

test('an expired version and an aborted request are not reported, nor is the success after them', async () => {
  const { clock, records, failures } = setUp()
  failures.failed(watch('services'), statusFailure(410, undefined))
  failures.failed(watch('services'), localFailure('NP_CLIENT_ABORTED', 'Aborted', 'stopping'))
  failures.succeeded('services')
  await clock.advance(60_000)
  expect([records, failures.present('services')]).toEqual([[], undefined])
})

test('secrets in a message are in neither the log nor /readyz', () => {
  const { records, failures } = setUp()
  failures.failed(watch('services'), forbidden('token Bearer abcdefgh12345678 is not known'))
  expect(records.join('\n')).toContain('[redacted]')
  expect(`${records.join('\n')} ${failures.present('services')?.description}`).not.toContain(
    'abcdefgh',
  )
})
