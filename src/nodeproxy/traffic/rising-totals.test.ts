import { expect, test } from 'vitest'
import type { ServiceKey } from '../../forwarding/entry.ts'
import type { TrafficNumbers } from '../../modes/mode.ts'
import { RisingTotals } from './traffic-counters.ts'

const KEY = 'shop/web' as ServiceKey

function rig() {
  const totals = new RisingTotals()
  return (numbers: TrafficNumbers | undefined) =>
    totals.raise(new Map(numbers ? [[KEY, numbers]] : [])).get(KEY)
}

test('a counter that vanishes takes nothing from the sum, and what comes later is added', () => {
  const raise = rig()
  expect(raise({ connections: 30, bytesIn: 7 })).toEqual({ connections: 30, bytesIn: 7 })
  expect(raise({ connections: 20, bytesIn: 9 })).toEqual({ connections: 30, bytesIn: 9 })
  expect(raise({ connections: 25, bytesIn: 9 })).toEqual({ connections: 35, bytesIn: 9 })
  expect(raise({ connections: 0, bytesIn: 0 })).toEqual({ connections: 35, bytesIn: 9 })
  expect(raise({ connections: 1, bytesIn: 2 })).toEqual({ connections: 36, bytesIn: 11 })
})

test('present connections fall, and a Service that was gone begins anew', () => {
  const raise = rig()
  raise({ connections: 30, connectionsNow: 5 })
  expect(raise({ connections: 30, connectionsNow: 2 })).toEqual({
    connections: 30,
    connectionsNow: 2,
  })
  expect(raise(undefined)).toBeUndefined()
  expect(raise({ connections: 1, connectionsNow: 0 })).toEqual({
    connections: 1,
    connectionsNow: 0,
  })
})
