import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { SERVICES, service, startApi } from '../testing/test-api.ts'
import { ADDRESS_BAND, AllocationPool, PORT_BAND, staticBand } from './allocation-pool.ts'

test.each([
  [15, ADDRESS_BAND, 0],
  [16, ADDRESS_BAND, 16],
  [254, ADDRESS_BAND, 16],
  [65_534, ADDRESS_BAND, 256],
  [2768, PORT_BAND, 86],
  [20, PORT_BAND, 16],
  [65_536, PORT_BAND, 128],
])('of %d in %j, %d are left to explicit requests', (size, limits, expected) => {
  expect(staticBand(size, limits)).toBe(expected)
})

test('the band is used when the rest is full, and never more than there is', () => {
  const pool = new AllocationPool({ below: () => 0, uuid: () => '' })
  const taken = new Set<number>()
  const isFree = (index: number): boolean => !taken.has(index)
  const chosen = Array.from({ length: 5 }, () => {
    const index = pool.choose(4, isFree, 2)
    if (index !== undefined) taken.add(index)
    return index
  })
  expect(chosen).toEqual([2, 3, 0, 1, undefined])
})

test('the server leaves the bands of both ranges to explicit requests until the rest is full', async () => {
  const api = await startApi({
    serviceAddressRanges: ['10.0.0.0/27'],
    nodePortRange: { first: 3000, last: 3029 },
  })
  const isInBand = async (name: string, spec: JsonObject = {}): Promise<readonly boolean[]> => {
    const made = await api.make(SERVICES, service(name, { type: 'NodePort', ...spec }))
    const address = Number(stringAt(made, 'spec', 'clusterIP').split('.')[3])
    return [address <= 16, Number(valueAt(arrayAt(made, 'spec', 'ports')[0], 'nodePort')) < 3016]
  }
  for (let index = 0; index < 14; index++) {
    expect(await isInBand(`s${index}`)).toEqual([false, false])
  }
  const requested = { clusterIP: '10.0.0.1', ports: [{ port: 80, nodePort: 3000 }] }
  expect(await isInBand('requested', requested)).toEqual([true, true])
  expect(await isInBand('late')).toEqual([true, true])
})
