import { expect, test } from 'vitest'
import { planText } from '../plan-command.ts'
import { type NodePlan, wouldChange } from './node-plan.ts'
import { NOTHING } from './testing/no-plan.ts'

test('nothing to change is said in one line', () => {
  expect(planText(NOTHING, true)).toBe(
    'mode m on node7: the kernel has everything; nothing would change\n',
  )
  expect(wouldChange(NOTHING)).toBe(false)
})

const PLAN: NodePlan = {
  ...NOTHING,
  set: 2,
  unset: 1,
  flowCount: 2,
  services: [
    {
      service: 'shop/web',
      objects: [
        {
          action: 'change',
          key: '4/nat/C-1',
          kind: 'chain',
          family: 4,
          before: ['-j A', '-j SAME', '-j A'],
          after: ['-j A', '-j SAME', '-j B'],
        },
        { action: 'add', key: '4/nat/C-2', kind: 'chain', family: 4, after: ['-j \u001b[2JEVIL'] },
      ],
    },
  ],
  shared: [{ action: 'remove', key: 'set/OLD', kind: 'set', family: 4 }],
  flows: [{ frontend: '10.96.0.10:53/UDP', count: 2 }],
  cleanups: [{ mode: 'ipvs', drains: true, objects: { virtual_server: 3, set: 12 } }],
  problems: [{ entry: 'a/b:/TCP/4' as never, code: 'NP_FORWARDING_CONFLICT', message: 'taken' }],
  notes: ['a note'],
}

test('a summary, then each object with the lines that differ, and nothing that moves a terminal', () => {
  expect(planText(PLAN, false)).toBe(
    [
      'mode m on node7: 2 objects to set, 1 to remove, 1 Service touched',
      '2 conntrack entries to delete',
      'when mode m is complete, mode ipvs goes: its connections drain, and then 3 virtual_server, 12 set are removed',
      '',
      'shop/web',
      '  ~ chain 4/nat/C-1',
      '      - -j A',
      '      + -j B',
      '  + chain 4/nat/C-2',
      '      + -j  [2JEVIL',
      '',
      'of all Services, or of none',
      '  - set set/OLD',
      '',
      'deleted: 2 conntrack entries to 10.96.0.10:53/UDP',
      'not served: a/b:/TCP/4: taken (NP_FORWARDING_CONFLICT)',
      'note: a note',
      '',
    ].join('\n'),
  )
})

test('on a terminal signs have colours', () => {
  expect(planText(PLAN, true)).toContain('  \u001b[33m~ chain 4/nat/C-1\u001b[0m\n')
})

test.each([{ set: 1 }, { unset: 1 }, { flowCount: 1 }, { cleanups: PLAN.cleanups }])(
  'something would change with %j',
  (change) => expect(wouldChange({ ...NOTHING, ...change })).toBe(true),
)

test('of a chain with many rules the first are shown', () => {
  const after = Array.from({ length: 30 }, (_, index) => `-j T${index}`)
  const object = { action: 'add', key: '4/nat/C', kind: 'chain', family: 4, after } as const
  const text = planText({ ...NOTHING, set: 1, shared: [object] }, false)
  expect(text).toContain('-j T19\n      and 10 more lines\n')
  expect(text).not.toContain('-j T20')
})
