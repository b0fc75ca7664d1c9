import type { PolicyRoute, Routes } from '../../../src/kernel/route/routes.ts'
import type { Family } from '../../../src/lib/ip.ts'

/** What another process may do: in the kernel with `ip`, in the fake by its methods. */
export interface Foreigner {
  add(route: PolicyRoute): void
  flushRules(family: Family): void
  flushTable(family: Family, table: number): void
}

const four: PolicyRoute = { family: 4, mark: 0x8000, mask: 0x8000, table: 28_272, priority: 7 }
const six: PolicyRoute = { ...four, family: 6 }
const second: PolicyRoute = { ...four, mark: 0x1_0000, mask: 0xffff_0000, priority: 8 }
const high: PolicyRoute = {
  family: 6,
  mark: 0xffff_ffff,
  mask: 0xffff_ffff,
  table: 0xffff_fff0,
  priority: 0x7fff_ffff,
}

/** The same steps for the kernel and its fake. */
export async function walk(routes: Routes, foreigner: Foreigner) {
  const walked: Record<string, unknown> = {}
  let calls = 0
  let wake = () => undefined as void
  const stop = routes.watch(() => {
    calls++
    wake()
  })
  const heard = (before: number) =>
    new Promise<boolean>((resolve) => {
      const look = () => (calls > before ? resolve(true) : undefined)
      wake = look
      look()
    })
  const note = async (what: string, answer: () => Promise<unknown>) => {
    walked[what] = await answer()
  }

  await note('nothing yet', () => routes.holds(four))
  await note('made', () => routes.ensure(four))
  await note('made again', () => routes.ensure(four))
  await note('held', () => routes.holds(four))
  await note('other family', () => routes.holds(six))
  await note('other priority', () => routes.holds({ ...four, priority: 8 }))
  await note('other mask', () => routes.holds({ ...four, mask: 0xc000 }))
  await note('other table', () => routes.holds({ ...four, table: 28_273 }))
  await note('second rule to the table', () => routes.ensure(second))
  await note('largest numbers', () => routes.ensure(high))
  await note('list', () => routes.list())
  await note('one of two removed', () => routes.remove(four))
  await note('route stays for the other', () => routes.holds(second))
  await note('other removed', () => routes.remove(second))
  await note('highest removed', () => routes.remove(high))
  await note('removed again', () => routes.remove(high))
  await note('nothing left', () => routes.list())
  walked['own changes heard'] = calls

  foreigner.add(four)
  await note('foreign rule and route', () => routes.holds(four))
  await note('ours beside it', () => routes.ensure(four))
  await note('both held', () => routes.holds(four))
  await note('ours removed', () => routes.remove(four))
  await note('foreign ones stay', () => routes.ensure({ ...four, priority: 9 }))
  await note('priority 9', () => routes.remove({ ...four, priority: 9 }))
  let before = calls
  foreigner.flushTable(4, four.table)
  walked['flush of the table heard'] = await heard(before)
  foreigner.flushRules(4)

  await note('six made', () => routes.ensure(six))
  await note('four made', () => routes.ensure(four))
  before = calls
  foreigner.flushRules(4)
  walked['flush of the rules heard'] = await heard(before)
  await note('rules gone', () => routes.holds(four))
  await note('only the rule is made again', () => routes.ensure(four))
  await note('six is as it was', () => routes.holds(six))
  before = calls
  foreigner.flushTable(6, six.table)
  walked['flush in IPv6 heard'] = await heard(before)
  await note('routes gone', () => routes.holds(six))
  await note('only the route is made again', () => routes.ensure(six))
  await note('end', () => Promise.all([routes.remove(four), routes.remove(six)]))
  stop()
  return JSON.parse(JSON.stringify(walked, (_, value: unknown) => value ?? null)) as unknown
}

const FOUR_RULE = 'ip -4 rule add fwmark 0x8000/0x8000 lookup 28272 priority 7'
const FOUR_ROUTE = 'ip -4 route add local default dev lo table 28272'
const SIX_RULE = 'ip -6 rule add fwmark 0x8000/0x8000 lookup 28272 priority 7'
const SIX_ROUTE = 'ip -6 route add local default dev lo table 28272'

export const WALKED = {
  'nothing yet': false,
  made: [FOUR_RULE, FOUR_ROUTE],
  'made again': [],
  held: true,
  'other family': false,
  'other priority': false,
  'other mask': false,
  'other table': false,
  'second rule to the table': ['ip -4 rule add fwmark 0x10000/0xffff0000 lookup 28272 priority 8'],
  'largest numbers': [
    'ip -6 rule add fwmark 0xffffffff/0xffffffff lookup 4294967280 priority 2147483647',
    'ip -6 route add local default dev lo table 4294967280',
  ],
  list: [four, second, high],
  'one of two removed': null,
  'route stays for the other': true,
  'other removed': null,
  'highest removed': null,
  'removed again': null,
  'nothing left': [],
  'own changes heard': 0,
  'foreign rule and route': false,
  'ours beside it': [FOUR_RULE],
  'both held': true,
  'ours removed': null,
  'foreign ones stay': ['ip -4 rule add fwmark 0x8000/0x8000 lookup 28272 priority 9'],
  'priority 9': null,
  'flush of the table heard': true,
  'six made': [SIX_RULE, SIX_ROUTE],
  'four made': [FOUR_RULE, FOUR_ROUTE],
  'flush of the rules heard': true,
  'rules gone': false,
  'only the rule is made again': [FOUR_RULE],
  'six is as it was': true,
  'flush in IPv6 heard': true,
  'routes gone': false,
  'only the route is made again': [SIX_ROUTE],
  end: [null, null],
}
