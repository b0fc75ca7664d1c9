import { expect, test } from 'vitest'
import { conformanceCases } from '../../../src/kernel/neighbours/testing/conformance.ts'
import { runInside } from './run-inside.ts'

test('the kernel passes the cases that the fake passes', async () => {
  const results = await runInside('neighbour-responder.script.ts')
  const names = Object.keys(conformanceCases)
  expect(results).toEqual(Object.fromEntries(names.map((name) => [name, 'ok'])))
})

test('without CAP_NET_RAW, and at an interface that is not Ethernet, it says so', async () => {
  expect(await runInside('neighbour-responder.script.ts', { args: ['refusals'] })).toEqual({
    withoutRights: {
      code: 'NP_KERNEL_NEIGHBOURS',
      message: 'addresses cannot be announced: cannot open a packet socket: EPERM',
      hint: 'give node-proxy CAP_NET_RAW',
    },
    loopback: [
      {
        state: 'failed',
        message: 'addresses cannot be announced at "lo": it is no Ethernet interface',
      },
    ],
    absent: ['absent'],
  })
})
