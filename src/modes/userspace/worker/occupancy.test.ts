import { expect, test } from 'vitest'
import { createOccupancy, Occupancy } from './occupancy.ts'

const memory = () => createOccupancy({ below: (bound) => bound - 1 })

test('all workers count sessions in one memory', () => {
  const shared = memory()
  const [one, two] = [new Occupancy(shared), new Occupancy(shared)]
  one.add({ protocol: 'TCP', client: 'a' }, 1)
  two.add({ protocol: 'UDP', client: 'a' }, 1)
  two.add({ protocol: 'TCP', client: 'b' }, 1)
  expect([one.of('TCP'), one.of('UDP'), one.ofClient('a'), one.ofClient('b')]).toEqual([2, 1, 2, 1])
  one.add({ protocol: 'TCP', client: 'b' }, -1)
  expect([two.of('TCP'), two.ofClient('b')]).toEqual([1, 0])
})

test('few of many clients share a number', () => {
  const occupancy = new Occupancy(memory())
  const clients = Array.from({ length: 1_000 }, (_, n) => `client ${n}`)
  for (const client of clients) occupancy.add({ protocol: 'TCP', client }, 1)
  const alone = clients.filter((client) => occupancy.ofClient(client) === 1)
  expect(alone.length).toBeGreaterThan(950)
})
