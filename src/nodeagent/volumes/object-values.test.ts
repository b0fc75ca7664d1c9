import { expect, test } from 'vitest'
import { type ApiResult, statusFailure } from '../../client/http/failure.ts'
import type { JsonObject } from '../../lib/json.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { podPlan } from '../testing/pod-story.ts'
import { podToken, readObjectValues } from './object-values.ts'

const SECRET = { namespace: 'shop', resource: 'secrets', name: 'db' } as const

function answering(answer: ApiResult<unknown>) {
  const paths: string[] = []
  const get = (path: string): Promise<ApiResult<unknown>> => {
    paths.push(path)
    return Promise.resolve(answer)
  }
  return { paths, get: get as never }
}

function refused(code: number): ApiResult<unknown> {
  return { ok: false, failure: statusFailure(code, {}) }
}

test('values are decoded, those of a ConfigMap from both of its fields', async () => {
  const value = { data: { a: 'YQ==' }, binaryData: { b: 'Yg==' } }
  const secret = await readObjectValues(answering({ ok: true, value }), SECRET)
  expect([...(secret ?? [])].map(([key, bytes]) => [key, String(bytes)])).toEqual([['a', 'a']])
  const map = await readObjectValues(answering({ ok: true, value }), {
    ...SECRET,
    resource: 'configmaps',
  })
  expect([...(map ?? [])].map(([key, bytes]) => [key, String(bytes)])).toEqual([
    ['a', 'YQ=='],
    ['b', 'b'],
  ])
})

test('one that does not exist is no error, one that may not be read is', async () => {
  expect(await readObjectValues(answering(refused(404)), SECRET)).toBe(undefined)
  for (const code of [401, 403, 500, 503]) {
    await expect(readObjectValues(answering(refused(code)), SECRET)).rejects.toThrow(`HTTP ${code}`)
  }
})

test('a name leads to no other path', async () => {
  const client = answering(refused(404))
  await readObjectValues(client, { ...SECRET, name: '../configmaps/x?watch=1#' })
  expect(client.paths).toEqual([
    '/api/v1/namespaces/shop/secrets/..%2Fconfigmaps%2Fx%3Fwatch%3D1%23',
  ])
})

const HOUR = 3_600_000

/** Requests a token of this life in seconds; the server grants `granted`. */
async function renewal(wished: number, granted?: number, below = 0): Promise<number> {
  const clock = new FakeClock()
  const spec = granted === undefined ? {} : { expirationSeconds: granted }
  const value = { spec, status: { token: 't' } }
  const client = { create: () => Promise.resolve({ ok: true, value } as const) }
  const source = { kind: 'token', path: 'token', audience: '', expirationSeconds: wished } as const
  const random = { below: (bound: number) => Math.min(below, bound - 1) }
  const { renewAt } = await podToken({ client, clock, random }, podPlan(), source)
  return renewAt - clock.now()
}

test.each([
  ['80 % of its life', 3600, undefined, 0.8 * HOUR],
  ['80 % of the life that the server grants', 86_400, 3600, 0.8 * HOUR],
  ['80 % of a life that the server makes longer', 600, 3600, 0.8 * HOUR],
  ['a day, however long it lives', 864_000, undefined, 24 * HOUR],
])('a token is replaced before %s', async (_what, wished, granted, latest) => {
  expect(await renewal(wished, granted)).toBe(latest)
  const earliest = await renewal(wished, granted, Number.POSITIVE_INFINITY)
  expect(earliest).toBeGreaterThan(0.94 * latest)
  expect(earliest).toBeLessThan(latest)
})

test('the account of a Pod stands in the path by its bytes, and is default where there is none', async () => {
  const paths: string[] = []
  const client = {
    create: (path: string) => {
      paths.push(path)
      return Promise.resolve({ ok: true, value: { status: { token: 't' } } } as const)
    },
  }
  const tools = { client, clock: new FakeClock(), random: { below: () => 0 } }
  const source = { kind: 'token', path: 't', audience: '', expirationSeconds: 600 } as const
  const pods: readonly JsonObject[] = [{}, { serviceAccountName: '../../secrets/x?' }]
  for (const spec of pods) await podToken(tools, podPlan(spec), source)
  const folder = '/api/v1/namespaces/default/serviceaccounts'
  expect(paths).toEqual([`${folder}/default/token`, `${folder}/..%2F..%2Fsecrets%2Fx%3F/token`])
})

test('an answer without a token is an error about the account', async () => {
  const client = { create: () => Promise.resolve({ ok: true, value: {} } as const) }
  const tools = { client, clock: new FakeClock(), random: { below: () => 0 } }
  const source = { kind: 'token', path: 't', audience: '', expirationSeconds: 600 } as const
  await expect(podToken(tools, podPlan(), source)).rejects.toMatchObject({
    message: 'Garbage: the server answered a TokenRequest without a token',
    object: 'token of serviceaccount default/default',
  })
})
