import { expect, test } from 'vitest'
import { affinitySet, CHAIN, serviceChain } from './names.ts'

test('names fit the kernel: 28 characters for a chain, 31 for a set', () => {
  const owner = 'x'.repeat(500)
  expect(serviceChain('C', owner)).toMatch(/^NPROXY-C-[\w-]{19}$/)
  expect(affinitySet(6, owner)).toMatch(/^NPROXY-A6-[\w-]{19}$/)
  for (const name of Object.values(CHAIN)) expect(name.length).toBeLessThanOrEqual(28)
  expect(new Set(Object.values(CHAIN)).size).toBe(Object.values(CHAIN).length)
})
