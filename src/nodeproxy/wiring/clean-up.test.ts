import { expect, test } from 'vitest'
import { cleanUpKernel } from './clean-up.ts'
import { configuration, recordingLog } from './wiring.fixture.ts'

test('without the right to remove anything it says so once, and fails', async () => {
  const { log, lines } = recordingLog()
  expect(await cleanUpKernel(configuration(), log, { netAdmin: false })).toBe(1)
  expect(lines).toEqual([expect.stringMatching(/^error .*nothing .*NP_NODEPROXY_UNPRIVILEGED/)])
})
