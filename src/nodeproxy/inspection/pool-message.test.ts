import { expect, test } from 'vitest'
import type { PoolExplanation } from '../../forwarding/explain-pool.ts'
import { ip } from '../../forwarding/testing/fixtures.ts'
import { poolMessage } from './explain-message.ts'

const EXPLAINED: PoolExplanation = {
  pool: 'local',
  zone: 'zone-a',
  chosenBy: 'terminating',
  nodes: new Map(),
  reasons: ['because', 'therefore'],
  leftOut: [
    {
      ip: ip('10.0.0.2'),
      port: 8080,
      nodeName: 'there',
      reason: 'otherNode',
      text: 'on node there',
    },
  ],
}

test('a message has all of an explanation but the nodes of the backends', () => {
  expect(poolMessage(EXPLAINED)).toEqual({
    name: 'local',
    zone: 'zone-a',
    chosenBy: 'terminating',
    reasons: ['because', 'therefore'],
    leftOut: [
      {
        ip: '10.0.0.2',
        port: 8080,
        node: 'there',
        reason: 'otherNode',
        text: 'on node there',
      },
    ],
    leftOutCount: 1,
  })
  expect(poolMessage({ ...EXPLAINED, zone: undefined }).zone).toBe('')
})

test('a hundred of those left out are named, and all are counted', () => {
  const leftOut = Array.from({ length: 250 }, () => EXPLAINED.leftOut[0]!)
  const message = poolMessage({ ...EXPLAINED, leftOut })
  expect([message.leftOut?.length, message.leftOutCount]).toEqual([100, 250])
})
