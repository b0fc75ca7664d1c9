import { expect, test } from 'vitest'
import type { MasqueradeCell } from './results.ts'
import { masqueradeSection } from './section.ts'

const NONE = { repeatedSyns: 0, waits: 0 }

function cell(subject: string, clients: number, repeatedSyns: number, waits: number) {
  const causes = { timeWait: { repeatedSyns, waits }, unanswered: NONE, answered: NONE, lost: NONE }
  return {
    subject,
    clients,
    perSecond: 100,
    binds: false,
    seconds: 180,
    kernel: '6.1',
    tookSeconds: 180.25,
    connections: 18_000,
    failures: 0,
    repeatedSyns,
    causes,
    unreadPackets: 0,
    rejectedByTimeWait: repeatedSyns + 1,
    insertFailed: 0,
    listenDrops: 0,
    skippedAnswers: 0,
    discardedTimeWaits: 0,
    ports: { distinct: 1, least: 1, most: 1 },
  } satisfies MasqueradeCell
}

test('each rate has a table, and all cells of a subject have a sum with causes', () => {
  const text = masqueradeSection({
    startedAt: '2030-01-02',
    busyPercent: 3,
    machine: { cores: 2, kernel: '6.1', node: 'v26', iptables: 'v1' },
    cells: [cell('b', 2, 1_040, 3), cell('b', 1, 0, 0), cell('a', 2, 7, 0)],
  })
  expect(text).toContain('### Masquerade: 100 connections a second, 18,000 in all')
  expect(text).toContain('|  |   | 1 connects | 2 connects |')
  expect(text).toContain('| b |  | 0 | 1,040 (3) |\n')
  expect(text).toContain('| a |  | – | 7 |\n')
  expect(text).toContain('| b | 6.1 | 36,000 | 0 | 1,040 | 1,040 (3) | 0 | 0 | 0 | 1,042 | 0 |')
  expect(text).toMatch(/3 minutes for each figure.*0\.3 s longer/s)
})
