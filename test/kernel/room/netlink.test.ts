import { constants } from 'node:os'
import { expect, test } from 'vitest'
import { runInside } from './run-inside.ts'

const { ENODEV } = constants.errno

test('messages that overrun a socket are noticed and asked for again; refusals have words', async () => {
  expect(await runInside('netlink.script.ts')).toEqual({
    refused: 700,
    repeated: true,
    errnos: [ENODEV],
    few: {
      refusals: [
        [0, { errno: ENODEV }],
        [1, { errno: expect.any(Number), text: expect.any(String) }],
      ],
      repeated: false,
    },
  })
})
