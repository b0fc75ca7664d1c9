import { expect, test } from 'vitest'
import { readArguments } from './arguments.ts'

test('chooses the screen and the iptables mode unless told otherwise', () => {
  expect(readArguments([])).toEqual({
    kind: 'run',
    options: { mode: 'iptables', once: false, daemonFlags: [] },
  })
})

test('takes the mode from the environment unless an argument names one', () => {
  const env = { NP_PROXY_MODE: 'ipvs' }
  expect(readArguments([], env)).toMatchObject({ options: { mode: 'ipvs' } })
  expect(readArguments(['--proxy-mode=iptables'], env)).toMatchObject({
    options: { mode: 'iptables' },
  })
})

test('reads the mode, the tour, and what is meant for the daemon', () => {
  expect(readArguments(['--proxy-mode=ipvs', '--once', '--', '--v=4', '--once'])).toEqual({
    kind: 'run',
    options: { mode: 'ipvs', once: true, daemonFlags: ['--v=4', '--once'] },
  })
})

test.each([[['--help']], [['-h', '--once']]])('helps with %j', (args) => {
  expect(readArguments(args)).toEqual({ kind: 'help' })
})

test.each([
  [['--onec'], '--onec'],
  [['web'], 'web'],
  [['--once=yes'], '--once'],
  [['--proxy-mode'], '--proxy-mode'],
])('says what is wrong with %j', (args, word) => {
  expect(readArguments(args)).toEqual({
    kind: 'wrong',
    problem: expect.stringContaining(word),
  })
})
