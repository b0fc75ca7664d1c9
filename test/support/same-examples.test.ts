import fc from 'fast-check'
import { expect, test } from 'vitest'

test('two properties draw the same examples, unless NP_SEED asks for others', () => {
  const examples = () => fc.sample(fc.nat(), fc.readConfigureGlobal())
  const isSame = JSON.stringify(examples()) === JSON.stringify(examples())
  expect(isSame).toBe(process.env['NP_SEED'] !== 'random')
})
