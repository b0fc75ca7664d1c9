import { expect, test } from 'vitest'
import { runInside } from './run-inside.ts'

const table = {
  entries: 5,
  trafficChangesNothing: true,
  replacedSameSize: true,
  replacedOtherDigest: true,
  lock: [false, true, false],
}

test('the legacy variant is watched in the kernel', async () => {
  expect(await runInside('xtables.script.ts')).toEqual({
    4: table,
    6: table,
    missing: 'undefined',
    flushed: [{ family: 4, table: 'filter' }],
    added: [{ family: 4, table: 'nat' }],
  })
})
