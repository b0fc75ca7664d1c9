import { expect, test } from 'vitest'
import type { Raw } from '../../resources/reader.ts'
import { placesOf } from '../../resources/testing/raw-objects.ts'
import { applyDefaults, validateObject } from './testing/rules-by-kind.ts'

function rejected(parts: Raw): readonly string[] {
  const object = { metadata: { name: 'x', namespace: 'shop' }, ...parts }
  return placesOf(validateObject('Lease', applyDefaults('Lease', object)))
}

test.each<[Raw, readonly string[]]>([
  [{}, []],
  [
    {
      holderIdentity: 'node-1',
      leaseDurationSeconds: 15,
      leaseTransitions: 0,
      acquireTime: '2030-01-02T03:04:05.000001Z',
      renewTime: '2030-01-02T03:04:06.000000Z',
    },
    [],
  ],
  [{ holderIdentity: 7 }, ['spec.holderIdentity 7']],
  [{ leaseDurationSeconds: 0 }, ['spec.leaseDurationSeconds 0']],
  [{ leaseTransitions: -1 }, ['spec.leaseTransitions -1']],
  [{ renewTime: 'now' }, ['spec.renewTime "now"']],
])('a Lease with %j: rejected fields %j', (spec, expected) => {
  expect(rejected({ spec })).toEqual(expected)
})
