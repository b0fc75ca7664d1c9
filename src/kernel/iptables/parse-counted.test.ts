import { expect, test } from 'vitest'
import { parseCounted } from './command-iptables.ts'

test.each([
  ['[12:720] -A C -p tcp -j ACCEPT', { chain: 'C', rule: '-p tcp -j ACCEPT', packets: 12 }],
  ['[3:180] -A C', { chain: 'C', rule: '', packets: 3 }],
  ['[0:0] -A C -j ACCEPT', undefined],
  [':C - [5:300]', undefined],
  ['-A C -j ACCEPT', undefined],
  ['COMMIT', undefined],
])('%j', (line, expected) => expect(parseCounted(line)).toEqual(expected))
