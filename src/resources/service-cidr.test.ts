import { expect, test } from 'vitest'
import { decodeServiceCIDR } from './service-cidr.ts'

const decoded = (cidrs: unknown) =>
  decodeServiceCIDR({ metadata: { name: 'kubernetes' }, spec: { cidrs } })

test('the networks of both families; one that is none is left out and reported', () => {
  const cidrs = ['10.96.0.0/12', 'fd00:96::/108']
  expect(decoded(cidrs)).toEqual({ ok: true, value: cidrs, warnings: [] })
  expect(decoded(['10.96.0.0/12', 'everything'])).toMatchObject({
    ok: true,
    value: ['10.96.0.0/12'],
    warnings: [{ field: 'spec.cidrs[1]' }],
  })
  expect(decoded(undefined)).toMatchObject({ ok: true, value: [] })
  expect(decodeServiceCIDR({ spec: { cidrs } }).ok).toBe(false)
})
