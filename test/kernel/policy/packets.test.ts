import { expect, test } from 'vitest'
import { runInside } from '../interfaces/run-inside.ts'

test('policies hold for packets of both families', async () => {
  expect(await runInside('../policy/packets.script.ts')).toEqual({
    'no policy': ['yes', 'yes'],
    'default deny': ['no', 'no', 'yes', 'yes'],
    'by Pods': ['yes', 'no'],
    'other Pods': ['no', 'yes'],
    'a range of ports': ['no', 'yes', 'yes'],
    blocks: ['yes', 'no'],
    'egress, a named port': ['yes', 'no', 'yes'],
    owned: 2,
    'after a foreign flush': 'no',
    dropped: true,
    'rules stay': 'no',
    'nft loads them': '',
    'a restart writes': 0,
    'rules that log': [2, 'no'],
    'a restart with a log writes': 0,
    'connections cut': true,
    'a cut connection': 'ECONNRESET',
    'after clean-up': '',
  })
})
