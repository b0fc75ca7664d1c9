import { expect, test } from 'vitest'
import { flushCommand, otherTerminal, showCommand } from './by-hand.ts'

test.each([
  [[], 'iptables'],
  [['--v=4', '--iptables-backend=legacy'], 'iptables-legacy'],
  [['--iptables-backend', 'nft', '--v=4'], 'iptables-nft'],
  [['--iptables-backend=auto'], 'iptables'],
])('daemon flags %j: %s', (daemonFlags, program) => {
  const options = { mode: 'iptables', daemonFlags }
  expect(flushCommand(options)).toEqual([program, '-t', 'nat', '-F'])
  expect(showCommand(options)).toEqual([program, '-t', 'nat', '-S'])
})

test('in mode ipvs the virtual servers are what there is to see and to clear', () => {
  const options = { mode: 'ipvs', daemonFlags: ['--iptables-backend=legacy'] }
  expect(flushCommand(options)).toEqual(['ipvsadm', '-C'])
  expect(showCommand(options)).toEqual(['ipvsadm', '-Ln'])
})

test('in another kernel its shell is entered first', () => {
  expect(otherTerminal({})).toBe('in another terminal')
  expect(otherTerminal({ SANDBOX_WAY_IN: 'npm run uml' })).toBe(
    'in another terminal, after: npm run uml',
  )
})
