import { expect, test } from 'vitest'
import { Counters, createCounterMemory, sumCounts } from './counters.ts'

test('the counters of all workers are summed', () => {
  const memories = [createCounterMemory(), createCounterMemory()]
  const [one, two] = memories.map((memory) => new Counters(memory))
  one?.add('connections')
  one?.add('connectionsNow', -1)
  two?.add('connections', 2 ** 40)
  two?.set('drainingNow', 3)
  two?.set('drainingNow', 2)
  expect(one?.get('connections')).toBe(1)
  expect(sumCounts(memories)).toMatchObject({
    connections: 2 ** 40 + 1,
    connectionsNow: -1,
    drainingNow: 2,
    bytesIn: 0,
  })
})
