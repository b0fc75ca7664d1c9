import { expect, test } from 'vitest'
import { runInside } from './run-inside.ts'

test('flows are cut in the kernel, and only those that were meant', async () => {
  expect(await runInside('conntrack.script.ts')).toEqual({
    cut: { deleted: 1000 },
    again: { deleted: 0 },
    left: 1007,
    several: { deleted: 1000 + 1 + 1 + 1 },
    // One to a backend that stays, one that was answered and one that was not translated are kept.
    tcp: { deleted: 1 },
    rest: expect.toSatisfy((rest: string[][]) => {
      const sorted = rest.map(([to, port]) => `${to} ${port}`).sort()
      expect(sorted).toEqual([
        '10.96.0.10 7003',
        '10.96.0.10 7004',
        '10.96.0.10 7005',
        '10.96.0.11 7000',
        'fd00::10 7001',
      ])
      return true
    }) as unknown,
    led: { udp: 3, unanswered: 2, both: 1 },
  })
})
