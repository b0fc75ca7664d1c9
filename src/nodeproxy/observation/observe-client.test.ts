import { expect, test } from 'vitest'
import { createMetrics } from '../../telemetry/metrics/metrics.ts'
import { observeClient } from '../daemon.ts'

test('requests and the end of the credential become metrics', async () => {
  const metrics = createMetrics()
  const reported: unknown[] = []
  const authenticated = (...report: readonly unknown[]) => void reported.push(report)
  const observer = observeClient(metrics, { authenticated })
  const show = async (name: string) =>
    (await metrics.text()).split('\n').filter((line) => line.startsWith(`nodeproxy_${name}`))
  observer.requested({ method: 'GET', code: '200', seconds: 0.25 })
  observer.requested({ method: 'GET', code: 'error', seconds: 1 })
  const validity = { from: 1_800_000_000_000, to: 1_900_000_000_000 }
  observer.authenticated('token', validity)
  expect(await show('rest_client_requests_total')).toEqual([
    'nodeproxy_rest_client_requests_total{code="200",method="GET"} 1',
    'nodeproxy_rest_client_requests_total{code="error",method="GET"} 1',
  ])
  expect(await show('rest_client_request_duration_seconds_sum')).toEqual([
    'nodeproxy_rest_client_request_duration_seconds_sum{verb="GET"} 1.25',
  ])
  expect(await show('client_credential')).toEqual([
    'nodeproxy_client_credential_expiration_timestamp_seconds{kind="token"} 1900000000',
    'nodeproxy_client_credential_late_timestamp_seconds{kind="token"} 1880000000',
  ])
  observer.authenticated('token', undefined)
  expect(await show('client_credential')).toEqual([])
  expect(reported).toEqual([
    ['token', validity],
    ['token', undefined],
  ])
})
