import { expect, test } from 'vitest'
import { configuration } from '../../testing/wiring.ts'
import { deniedKind } from './denied-kind.ts'

const lack = { code: 'NP_X', what: 'no right', remedy: 'be root' }

test('it can be asked for, and says why it cannot work', async () => {
  const kind = deniedKind('ipvs', { lack, periods: ({ ipvs }) => ipvs })
  const situation = {
    ...{ config: configuration(), node: undefined, localAddresses: [] },
    facts: { families: [4], hairpin: 'rules', randomFully: false, routesLocalnet: false } as const,
  }
  expect(await kind.prepare(situation)).toEqual({
    lacks: [{ code: 'NP_X', what: 'mode ipvs: no right', remedy: 'be root' }],
    facts: {},
  })
  expect(() => kind.blueprint(situation)).toThrow('not prepared')
  expect([await kind.isServing(), kind.leftovers(() => situation)]).toEqual([false, undefined])
})
