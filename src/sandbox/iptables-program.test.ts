import { expect, test } from 'vitest'
import { iptablesProgram } from './iptables-program.ts'

test.each([
  [[], 'iptables'],
  [['--v=4', '--iptables-backend=legacy'], 'iptables-legacy'],
  [['--iptables-backend', 'nft', '--v=4'], 'iptables-nft'],
  [['--iptables-backend=auto'], 'iptables'],
])('daemon flags %j: %s', (daemonFlags, program) => {
  expect(iptablesProgram({ daemonFlags })).toBe(program)
})
