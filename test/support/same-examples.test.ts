import fc from 'fast-check'
import { expect, test } from 'vitest'

test('two properties draw the same examples, unless NP_SEED asks for others', () => {
  const { seed } = fc.readConfigureGlobal()
  const examples = () => fc.sample(fc.nat(), seed === undefined ? {} : { seed })
  const isSame = JSON.stringify(examples()) === JSON.stringify(examples())
  expect(isSame).toBe(process.env['NP_SEED'] !== 'random')
})
