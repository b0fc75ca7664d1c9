import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { Call, CallResult } from '../session/api.ts'
import { refused } from '../session/call-failure.ts'
import { acquireLease } from './lease.ts'
import type { MoveEnvironment } from './requests.ts'

const POD = '/api/v1/namespaces/kube-system/pods/p'

test('a write is not sent after a renewal whose answer came too late, but after the next one', async () => {
  const clock = new FakeClock()
  const writes: string[] = []
  let renewalMs = 0
  const request = async ({ method = 'GET', path }: Call): Promise<CallResult> => {
    if (method === 'GET') return { ok: false, failure: refused(404, undefined) }
    if (path === POD) writes.push(`${method} ${path}`)
    if (method === 'PUT') await clock.advance(renewalMs)
    return { ok: true, value: { status: 200, body: { metadata: { resourceVersion: '1' } } } }
  }
  const environment: MoveEnvironment = {
    api: { request, requestText: async () => ({ ok: true, text: '' }) },
    clock,
    notice: () => undefined,
    signal: new AbortController().signal,
    pollMs: 1_000,
    timeoutMs: 60_000,
  }
  const { api } = await acquireLease('us', environment)
  await clock.advance(6_000)
  renewalMs = 12_000
  const late = await api.request({ method: 'DELETE', path: POD })
  expect(late).toMatchObject({ ok: false, failure: { code: 0 } })
  expect(writes).toEqual([])
  renewalMs = 0
  expect(await api.request({ method: 'DELETE', path: POD })).toMatchObject({ ok: true })
  expect(writes).toEqual([`DELETE ${POD}`])
})
