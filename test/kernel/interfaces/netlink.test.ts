import { constants } from 'node:os'
import { expect, test } from 'vitest'
import { runInside } from './run-inside.ts'

const { ENODEV } = constants.errno

test('requests and what is lost, over both kinds of socket', async () => {
  const answers = {
    refused: 700,
    repeated: true,
    errnos: [ENODEV],
    few: {
      refusals: [
        [0, { errno: ENODEV }],
        [1, { errno: expect.any(Number), text: 'Unknown device type' }],
      ],
      repeated: false,
    },
    names: ['lo'],
    tooLong: expect.stringContaining('not sent: EMSGSIZE'),
    afterwards: expect.stringContaining('closed'),
  }
  const { raw, request, absent, turns, silentLosses } = (await runInside('netlink.script.ts')) as {
    readonly raw: unknown
    readonly request: unknown
    readonly absent: string
    readonly turns: number
    readonly silentLosses: readonly number[]
  }
  expect(raw).toEqual(answers)
  expect(request).toEqual(answers)
  expect(absent).toContain('netlink: family 99 cannot be opened: EPROTONOSUPPORT')
  expect(silentLosses).toEqual([])
  expect(turns).toBeGreaterThan(10)
})
