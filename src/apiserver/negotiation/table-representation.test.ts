import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { encodeStored } from '../encoding/codec.ts'
import { configMaps } from '../kinds/config-map.ts'
import { SERVICES, service, startApi } from '../testing/test-api.ts'
import { tableRepresentation } from './table-representation.ts'

const table = tableRepresentation({
  served: { resource: configMaps, group: '', version: 'v1' },
  version: 'v1',
  include: 'None',
  clock: new FakeClock(0),
})

function rowsOf(count: number) {
  const items = Array.from({ length: count }, (_, index) => ({
    value: encodeStored({ metadata: { name: `c${index}` } }),
    revision: index + 1,
  }))
  const chunks = [...table.list(items, { revision: 9 })]
  const { kind, metadata, rows } = JSON.parse(Buffer.concat(chunks).toString())
  return { kind, metadata, names: rows.map((row: { cells: string[] }) => row.cells[0]), chunks }
}

test('a long table is made in parts, so that it does not delay other requests', () => {
  const { kind, metadata, names, chunks } = rowsOf(250)
  expect({ kind, metadata }).toEqual({ kind: 'Table', metadata: { resourceVersion: '9' } })
  expect(names).toEqual(Array.from({ length: 250 }, (_, index) => `c${index}`))
  expect(chunks.length).toBeGreaterThan(3)
})

test.each([0, 1, 100])('a table of %i rows', (count) => {
  expect(rowsOf(count).names).toHaveLength(count)
})

test.each([
  ['', { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' }, ['metadata']],
  ['?includeObject=Object', { kind: 'Service', apiVersion: 'v1' }, ['metadata', 'spec', 'status']],
  ['?includeObject=None', undefined, []],
])('a row of a table %s carries %j', async (query, type, fields) => {
  const api = await startApi()
  const made = await api.make(SERVICES, service('web'))
  const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
  const { body } = await api.call('GET', `${SERVICES}${query}`, { headers })
  const kept = Object.fromEntries(fields.map((field) => [field, made[field]]))
  const [row] = body['rows'] as { object?: unknown }[]
  expect(row?.object).toEqual(type && { ...type, ...kept })
})

test.each(['', '&watch=true'])('rows with an unknown object are refused%s', async (more) => {
  const api = await startApi()
  const path = `${SERVICES}?includeObject=All${more}`
  const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
  const answer = await api.call('GET', path, { headers })
  expect([answer.status, answer.body['message']]).toEqual([
    400,
    `Unable to convert to Table as requested: includeObject: Invalid value: "All": must be 'Metadata', 'Object', 'None', or empty`,
  ])
  expect((await api.call('GET', `${SERVICES}?includeObject=All`)).status).toBe(200)
})

test('an empty includeObject is the metadata', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('web'))
  const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
  const { body } = await api.call('GET', `${SERVICES}?includeObject=`, { headers })
  expect(body).toMatchObject({ rows: [{ object: { kind: 'PartialObjectMetadata' } }] })
})
