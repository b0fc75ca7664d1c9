import { create } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { ServiceTrafficSchema } from '../../inspection/generated/inspection_pb.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { loadsBetween, readTotals } from './read-growth.ts'

const E = 'ns/a:/TCP/4'

/** A client whose backends have so many connections; undefined: not counted. */
function counting(...connections: readonly (number | undefined)[]) {
  const backends = connections.map((count, at) => ({
    entry: E,
    ip: `10.0.0.${at}`,
    port: 80,
    traffic: count === undefined ? {} : { connections: BigInt(count) },
  }))
  return {
    async *traffic() {
      yield create(ServiceTrafficSchema, { service: 'ns/a', backends })
    },
  }
}

test('what grew between two reads; a backend that is new has nothing', async () => {
  const before = await readTotals(counting(100, 5))
  const after = await readTotals(counting(150, 5, 40))
  const [load, ...others] = loadsBetween(before, after, new Map([[E, 60]]))
  expect(others).toEqual([])
  expect(load).toMatchObject({ entry: E, service: 'ns/a', affinitySeconds: 60 })
  expect(load?.backends.map(({ connections }) => connections)).toEqual([50, 0, 0])
})

test('a single backend, and what is not counted, are no loads', async () => {
  const once = async (...counts: readonly (number | undefined)[]) => {
    const totals = await readTotals(counting(...counts))
    return loadsBetween(totals, totals, new Map())
  }
  expect(await once(7)).toEqual([])
  expect(await once(7, undefined)).toEqual([])
  expect(await once(7, 9)).toHaveLength(1)
})

test('a node-proxy that does not answer has none', async () => {
  const traffic = () => ({
    [Symbol.asyncIterator]: () => ({
      next: () => Promise.reject(new NodeProxyError('NP_INSPECTION_UNREACHABLE', 'no')),
    }),
  })
  expect(await readTotals({ traffic })).toEqual(new Map())
})
