import { expect, test } from 'vitest'
import { promiseSection } from './section.ts'

test('a figure stands beside its peer and its limit, and says how many times it is better', () => {
  const text = promiseSection({
    startedAt: '2030-01-02',
    machine: {
      cores: 2,
      kernel: '6.1',
      node: 'v26',
      iptables: 'v1',
      haproxy: '2.6',
      kubernetes: '1.20',
    },
    quick: false,
    busyPercent: 3,
    tookSeconds: 601,
    figures: [
      {
        what: 'start',
        unit: 's',
        digits: 1,
        better: 'less',
        ours: [3, 1, 2],
        iptables: [4],
        peer: { name: 'kube-proxy', samples: [5] },
        limit: { name: 'iptables-restore', samples: [0.5] },
      },
      {
        what: 'connections',
        unit: 'a second',
        digits: 0,
        better: 'more',
        ours: [10],
        peer: { name: 'HAProxy', samples: [20] },
      },
      { what: 'memory', unit: 'MiB', digits: 0, better: 'less', ours: [70] },
    ],
  })
  expect(text).toContain('1 of 2 are at least as good')
  expect(text).toContain(
    '| start, s | less is better | 2.0 (1.0–3.0) | 4.0 (4.0–4.0) | kube-proxy: 5.0 (5.0–5.0) | iptables-restore: 0.5 (0.5–0.5) | 2.50 |',
  )
  expect(text).toContain(
    '| connections, a second | more is better | 10 (10–10) | – | HAProxy: 20 (20–20) | – | 0.50 |',
  )
  expect(text).toContain('| memory, MiB | less is better | 70 (70–70) | – | – | – | – |')
  expect(text).toContain('it took\n10 minutes')
})
