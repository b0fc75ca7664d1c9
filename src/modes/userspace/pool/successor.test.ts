import { expect, test } from 'vitest'
import type { Listener } from '../../../kernel/listeners.ts'
import { FakeListeners } from '../../../kernel/testing/fake-listeners.ts'
import { ip } from '../../testing/mode-fixtures.ts'
import { successorCheck } from './successor.ts'

const WEB: Listener = { protocol: 'TCP', ip: ip('127.0.0.1'), port: 8080 }
const DNS: Listener = { protocol: 'UDP', ip: ip('::1'), port: 53 }
const MINE = new Map([
  ['TCP 127.0.0.1:8080', 1],
  ['UDP [::1]:53', 2],
])

test.each([
  ['no other process listens', [WEB, DNS, DNS], false],
  ['another process listens at one listener only', [WEB, WEB, DNS, DNS], false],
  ['another process listens at all listeners', [WEB, WEB, DNS, DNS, DNS], true],
  ['it listens at another port', [WEB, DNS, DNS, DNS, { ...WEB, port: 8081 }], false],
  ['it listens with another protocol', [WEB, DNS, DNS, DNS, { ...WEB, protocol: 'UDP' }], false],
  ['it listens over SCTP', [WEB, DNS, DNS, DNS, { ...WEB, protocol: 'SCTP' }], false],
] as const)('%s: %j', (_, listening, expected) => {
  const listeners = new FakeListeners()
  listeners.listeners = listening
  expect(successorCheck(() => MINE, listeners)()).toBe(expected)
})

test('a process without listeners has no successor', () => {
  expect(successorCheck(() => new Map(), new FakeListeners())()).toBe(false)
})
