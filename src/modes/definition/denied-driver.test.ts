import { expect, test } from 'vitest'
import { configuration } from '../../nodeproxy/testing/wiring.ts'
import { deniedDriver } from './denied-driver.ts'

const PERIODS = { syncPeriod: 30_000, minSyncPeriod: 0 }
const missing = { code: 'NP_X', what: 'no right', remedy: 'be root' }

test('it can be configured, and reports why it cannot work', async () => {
  const driver = deniedDriver({ name: 'ipvs', periods: () => PERIODS }, missing)
  const inputs = {
    config: configuration(),
    node: undefined,
    localAddresses: [],
    facts: { families: [4], hairpin: 'rules', randomFully: false, routesLocalnet: false } as const,
  }
  expect(await driver.prepare(inputs)).toEqual({
    missing: [{ code: 'NP_X', what: 'mode ipvs: no right', remedy: 'be root' }],
    facts: {},
  })
  expect(() => driver.spec(inputs)).toThrow('not prepared')
  expect([await driver.isServing(), driver.leftovers(() => inputs)]).toEqual([false, undefined])
})
