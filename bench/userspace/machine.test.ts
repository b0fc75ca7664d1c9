import { expect, test } from 'vitest'
import { parseDescriptorLimit } from './machine.ts'
import { mostConnections } from './measure/idle-connections.ts'

const limits = (
  hard: string,
) => `Limit                     Soft Limit           Hard Limit           Units
Max processes             95858                95858                processes
Max open files            1024                 ${hard}                files
Max locked memory         8388608              8388608              bytes
`

test('the hard limit of descriptors decides how many connections are held', () => {
  expect(parseDescriptorLimit(limits('20000'))).toBe(20_000)
  expect(mostConnections(20_000)).toBe(9_000)
  expect(mostConnections(4_096)).toBe(1_048)
})

test('without a limit it is ten thousand', () => {
  expect(mostConnections(parseDescriptorLimit(limits('unlimited')))).toBe(10_000)
})
