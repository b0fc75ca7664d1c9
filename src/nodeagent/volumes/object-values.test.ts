import { expect, test } from 'vitest'
import { type ApiResult, statusFailure } from '../../client/http/failure.ts'
import { readObjectValues } from './object-values.ts'

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
