import { expect, test } from 'vitest'
import { configuration, recordingLog } from '../testing/wiring.ts'
import { cleanUpKernel } from './clean-up.ts'

test('without CAP_NET_ADMIN cleanup logs one error and returns 2', async () => {
  const { log, lines } = recordingLog()
  expect(await cleanUpKernel(configuration(), log, { netAdmin: false })).toBe(2)
  expect(lines).toEqual([expect.stringMatching(/^error .*nothing .*NP_NODEPROXY_UNPRIVILEGED/)])
})
