import { expect, test } from 'vitest'
import { findingsText } from './diagnose.ts'
import type { Finding } from './evidence/finding.ts'

const FINDING: Finding = {
  check: 'x',
  symptom: 'Connection timeout',
  object: 'node/a',
  affects: [],
  cause: 'a rule\u001b[2J drops',
  evidence: ['7 packets'],
  remedy: 'remove it',
  commands: ['iptables -S'],
}

test('a finding in lines, without control characters', () => {
  expect(findingsText([FINDING, FINDING]).split('\n\n')[0]).toBe(
    [
      'Connection timeout: node/a: a rule?[2J drops',
      '  seen: 7 packets',
      '  remedy: remove it',
      '  $ iptables -S',
    ].join('\n'),
  )
  expect(findingsText([])).toBe('nothing was found\n')
})
