import { constants } from 'node:os'
import { type Expression, FIRST_REGISTER } from '../../expression.ts'
import type { Command } from '../../objects.ts'
import {
  ADDRESSES,
  add,
  bytes,
  chain,
  dropChain,
  dropSet,
  filter,
  flush,
  go,
  lookup,
  MAP,
  nat,
  remove,
  rule,
  SOURCE,
  set,
  TABLE,
  table,
  translate,
  VERDICTS,
  verdict,
  verdictOf,
} from './commands.ts'
import type { RefusalCase } from './refusal-case.ts'

const { EBUSY, EEXIST, EINVAL, EMLINK, ENODATA, ENOENT, EOPNOTSUPP, EPERM, ERANGE } =
  constants.errno
/** linux/errno.h; Node has no name for it. */
const ERESTART = 85

const ONE = { key: bytes(10, 0, 0, 1) }
const PERSISTENT: Command = {
  do: 'addTable',
  table: TABLE,
  spec: { isOwned: true, isPersistent: true },
}
const MASQUERADE: Expression = { type: 'masquerade', isFullyRandom: true }
const COPY: Expression = { type: 'duplicate', address: FIRST_REGISTER }
const LIMIT: Expression = { type: 'limit', perSecond: 5, burst: 5, isOver: true }
const log = (prefix: string): Expression => ({ type: 'log', group: 1, prefix })
const update = (name: string, does: { readonly counts?: true } = {}): readonly Expression[] => [
  SOURCE,
  { type: 'dynamic', operation: 'update', set: name, key: 8, ...does },
]

/** Chains c0 → c1 → … → c`jumps`; the kernel calls the first. */
function ladder(jumps: number): readonly Command[] {
  const steps = Array.from({ length: jumps }, (_, at) => at)
  return [
    table,
    chain('c0', filter('input')),
    ...steps.map((at) => chain(`c${at + 1}`)),
    ...steps.map((at) => rule(`c${at}`, go('jump', `c${at + 1}`))),
  ]
}

/** Cases for tables, chains, sets and rules. */
export const OBJECT_CASES: readonly RefusalCase[] = [
  { name: 'everything again', given: [table, chain('a')], commands: [table, chain('a')] },
  {
    name: 'a table that is not there is deleted',
    commands: [{ do: 'deleteTable', table: TABLE }],
    refused: { command: 0, errno: ENOENT },
  },
  {
    name: 'a table goes with all that is in it',
    given: [table, chain('a'), set('s', ADDRESSES), rule('a', SOURCE, lookup('s'))],
    commands: [{ do: 'deleteTable', table: TABLE }, table, chain('a', nat('output'))],
  },
  {
    name: 'a table of another socket',
    other: [{ do: 'addTable', table: TABLE, spec: { isOwned: true } }],
    commands: [chain('a')],
    refused: { command: 0, errno: EPERM },
  },
  {
    name: 'a table of another socket is added',
    other: [{ do: 'addTable', table: TABLE, spec: { isOwned: true } }],
    commands: [table],
    refused: { command: 0, errno: EPERM },
  },
  {
    name: 'a table of another socket is deleted',
    other: [{ do: 'addTable', table: TABLE, spec: { isOwned: true } }],
    commands: [{ do: 'deleteTable', table: TABLE }],
    refused: { command: 0, errno: EPERM },
  },
  {
    name: 'an owner adds its table again',
    given: [PERSISTENT],
    commands: [PERSISTENT, chain('a')],
  },
  {
    name: 'an owner adds its table without its flags',
    given: [PERSISTENT],
    commands: [table],
    refused: { command: 0, errno: EOPNOTSUPP },
  },
  {
    name: 'a persistent table of another socket',
    other: [PERSISTENT],
    commands: [PERSISTENT],
    refused: { command: 0, errno: EPERM },
  },
  {
    name: 'a persistent table stays when its owner closes, and is taken over',
    other: [PERSISTENT, chain('a'), set('s', ADDRESSES)],
    isOtherClosed: true,
    commands: [PERSISTENT, rule('a', SOURCE, lookup('s'))],
  },
  {
    name: 'a persistent table without an owner is changed by anybody',
    other: [PERSISTENT],
    isOtherClosed: true,
    commands: [chain('a'), { do: 'deleteTable', table: TABLE }],
  },
  {
    name: 'a persistent table without an owner is added as an ordinary one',
    other: [PERSISTENT],
    isOtherClosed: true,
    commands: [table],
    refused: { command: 0, errno: EOPNOTSUPP },
  },
  {
    name: 'an ordinary table is no table that can be taken over',
    given: [table],
    commands: [PERSISTENT],
    refused: { command: 0, errno: EOPNOTSUPP },
  },
  {
    name: 'an owned table goes with its owner',
    other: [{ do: 'addTable', table: TABLE, spec: { isOwned: true } }],
    isOtherClosed: true,
    commands: [chain('a')],
    refused: { command: 0, errno: ENOENT },
  },
  {
    name: 'a generation that is over',
    given: [table],
    commands: [chain('a')],
    isLate: true,
    refused: { errno: ERESTART },
  },
  {
    name: 'a chain of a table that is not there',
    commands: [chain('a')],
    refused: { command: 0, errno: ENOENT },
  },
  {
    name: 'a chain has a longer name than the kernel stores',
    commands: [table, chain('a'.repeat(256))],
    refused: { command: 1, errno: ERANGE },
  },
  {
    name: 'a chain of type nat in forward',
    commands: [table, chain('a', nat('forward'))],
    refused: { command: 1, errno: EOPNOTSUPP },
  },
  {
    name: 'a chain of type nat before conntrack',
    commands: [table, chain('a', nat('prerouting', -200))],
    refused: { command: 1, errno: EOPNOTSUPP },
  },
  { name: 'a chain of type nat behind it', commands: [table, chain('a', nat('prerouting', -199))] },
  {
    name: 'a chain again at another hook',
    given: [table, chain('a', nat('prerouting'))],
    commands: [chain('a', nat('output'))],
    refused: { command: 0, errno: EOPNOTSUPP },
  },
  {
    name: 'a chain again with a hook',
    given: [table, chain('a')],
    commands: [chain('a', nat('output'))],
    refused: { command: 0, errno: EOPNOTSUPP },
  },
  {
    name: 'a chain again with another type',
    given: [table, chain('a', { type: 'filter', hook: 'output', priority: -100 })],
    commands: [chain('a', nat('output'))],
    refused: { command: 0, errno: EEXIST },
  },
  {
    name: 'a chain that is not there is deleted',
    given: [table],
    commands: [dropChain('a')],
    refused: { command: 0, errno: ENOENT },
  },
  {
    name: 'a chain that a rule leads to is deleted',
    given: [table, chain('a'), chain('b'), rule('a', go('jump', 'b'))],
    commands: [dropChain('b')],
    refused: { command: 0, errno: EBUSY },
  },
  {
    name: 'a chain is deleted behind the rule that leads to it',
    given: [table, chain('a'), chain('b'), rule('a', go('jump', 'b'))],
    commands: [flush('a'), dropChain('b')],
  },
  {
    name: 'a chain that an element leads to is deleted',
    given: [
      table,
      chain('a'),
      set('v', VERDICTS),
      add('v', { ...ONE, data: verdict('goto', 'a') }),
    ],
    commands: [dropChain('a')],
    refused: { command: 0, errno: EBUSY },
  },
  {
    name: 'a chain is deleted behind the element that leads to it',
    given: [
      table,
      chain('a'),
      set('v', VERDICTS),
      add('v', { ...ONE, data: verdict('goto', 'a') }),
    ],
    commands: [remove('v', ONE), dropChain('a')],
  },
  {
    name: 'a chain is deleted behind the map with the element that leads to it',
    given: [
      table,
      chain('a'),
      set('v', VERDICTS),
      add('v', { ...ONE, data: verdict('goto', 'a') }),
    ],
    commands: [dropSet('v'), dropChain('a')],
  },
  {
    name: 'a chain with rules is deleted',
    given: [table, chain('a'), rule('a', { type: 'counter' })],
    commands: [dropChain('a')],
  },
  {
    name: 'a chain that is not there is flushed',
    given: [table],
    commands: [flush('a')],
    refused: { command: 0, errno: ENOENT },
  },
  { name: 'an empty chain is flushed', given: [table, chain('a')], commands: [flush('a')] },
  {
    name: 'a set that a rule looks up is deleted',
    given: [table, chain('a'), set('s', ADDRESSES), rule('a', SOURCE, lookup('s'))],
    commands: [dropSet('s')],
    refused: { command: 0, errno: EBUSY },
  },
  {
    name: 'a set is deleted behind the rule that looks it up',
    given: [table, chain('a'), set('s', ADDRESSES), rule('a', SOURCE, lookup('s'))],
    commands: [flush('a'), dropSet('s')],
  },
  {
    name: 'a set that is not there is deleted',
    given: [table],
    commands: [dropSet('s')],
    refused: { command: 0, errno: ENOENT },
  },
  {
    name: 'a set again with another comment',
    given: [table, set('s', { ...ADDRESSES, comment: 'one' })],
    commands: [set('s', { ...ADDRESSES, comment: 'other' })],
  },
  {
    name: 'a set again with other keys',
    given: [table, set('s', ADDRESSES)],
    commands: [set('s', { key: ['inet_service'] })],
    refused: { command: 0, errno: EEXIST },
  },
  {
    name: 'a set again as a map',
    given: [table, set('s', ADDRESSES)],
    commands: [set('s', MAP)],
    refused: { command: 0, errno: EEXIST },
  },
  {
    name: 'a set again with counters',
    given: [table, set('s', ADDRESSES)],
    commands: [set('s', { ...ADDRESSES, hasCounters: true })],
    refused: { command: 0, errno: EEXIST },
  },
  {
    name: 'a set of ranges that packets fill',
    commands: [table, set('s', { ...ADDRESSES, isInterval: true, isDynamic: true })],
    refused: { command: 1, errno: EOPNOTSUPP },
  },
  {
    name: 'a rule of a chain that is not there',
    given: [table],
    commands: [rule('a', { type: 'counter' })],
    refused: { command: 0, errno: ENOENT },
  },
  {
    name: 'a rule looks up a set that is not there',
    given: [table, chain('a')],
    commands: [rule('a', SOURCE, lookup('s'))],
    refused: { command: 0, errno: ENOENT },
  },
  {
    name: 'a rule looks up data of a set',
    given: [table, chain('a'), set('s', ADDRESSES)],
    commands: [rule('a', SOURCE, lookup('s', 8))],
    refused: { command: 0, errno: EINVAL },
  },
  {
    name: 'a rule takes a verdict from a map of data',
    given: [table, chain('a'), set('m', MAP)],
    commands: [rule('a', ...verdictOf('m'))],
    refused: { command: 0, errno: EINVAL },
  },
  {
    name: 'a rule reads a register that nothing was written to',
    given: [table, chain('a'), set('s', ADDRESSES)],
    commands: [rule('a', lookup('s'))],
    refused: { command: 0, errno: ENODATA },
  },
  {
    name: 'a rule leads to a chain that is not there',
    given: [table, chain('a')],
    commands: [rule('a', go('jump', 'b'))],
    refused: { command: 0, errno: ENOENT },
  },
  {
    name: 'a rule leads to a chain that the kernel calls',
    given: [table, chain('a'), chain('b', nat('output'))],
    commands: [rule('a', go('jump', 'b'))],
    refused: { command: 0, errno: EOPNOTSUPP },
  },
  {
    name: 'a rule fills a map',
    given: [table, chain('a'), set('s', { ...ADDRESSES, isDynamic: true })],
    commands: [rule('a', ...update('s'))],
  },
  {
    name: 'a rule fills a set whose size is fixed',
    given: [table, chain('a'), set('s', { ...ADDRESSES, size: 9 })],
    commands: [rule('a', ...update('s'))],
    refused: { command: 0, errno: EOPNOTSUPP },
  },
  {
    name: 'a rule counts in a set that rules fill',
    given: [table, chain('a'), set('s', { ...ADDRESSES, isDynamic: true })],
    commands: [rule('a', ...update('s', { counts: true }))],
  },
  {
    name: 'a rule counts in a set that they do not',
    given: [table, chain('a'), set('s', { ...ADDRESSES, size: 9 })],
    commands: [rule('a', ...update('s', { counts: true }))],
    refused: { command: 0, errno: EOPNOTSUPP },
  },
  {
    name: 'a rule fills a map without data',
    given: [table, chain('a'), set('m', { ...MAP, isDynamic: true })],
    commands: [rule('a', ...update('m'))],
    refused: { command: 0, errno: EINVAL },
  },
  {
    name: 'a rule translates to an address of another family',
    given: [table, chain('a')],
    commands: [rule('a', ...translate('destination', 6))],
    refused: { command: 0, errno: EOPNOTSUPP },
  },
  {
    name: 'a destination is translated where the kernel calls a chain of type nat',
    given: [table, chain('a', nat('prerouting'))],
    commands: [chain('b'), rule('b', ...translate('destination')), rule('a', go('goto', 'b'))],
  },
  {
    name: 'a destination is translated where the kernel calls a chain of type filter',
    given: [table, chain('a', filter('prerouting'))],
    commands: [rule('a', ...translate('destination'))],
    refused: { command: 0, errno: EOPNOTSUPP },
  },
  {
    name: 'a destination is translated in a chain that a chain of type filter leads to',
    given: [table, chain('a', filter('prerouting')), chain('b')],
    commands: [rule('b', ...translate('destination')), rule('a', go('goto', 'b'))],
    refused: { command: 1, errno: EOPNOTSUPP },
  },
  {
    name: 'a destination is translated behind an element of a map of a chain of type filter',
    given: [
      table,
      chain('a', filter('output')),
      chain('b'),
      set('v', VERDICTS),
      rule('a', ...verdictOf('v')),
      rule('b', ...translate('destination')),
    ],
    commands: [add('v', { ...ONE, data: verdict('goto', 'b') })],
    refused: { command: 0, errno: EOPNOTSUPP },
  },
  {
    name: 'a destination is translated in postrouting',
    given: [table, chain('a', nat('postrouting'))],
    commands: [rule('a', ...translate('destination'))],
    refused: { command: 0, errno: EOPNOTSUPP },
  },
  {
    name: 'a source is translated in prerouting',
    given: [table, chain('a', nat('prerouting'))],
    commands: [rule('a', ...translate('source'))],
    refused: { command: 0, errno: EOPNOTSUPP },
  },
  {
    name: 'masquerade in output',
    given: [table, chain('a', nat('output'))],
    commands: [rule('a', MASQUERADE)],
    refused: { command: 0, errno: EOPNOTSUPP },
  },
  {
    name: 'masquerade in postrouting',
    given: [table, chain('a', nat('postrouting'))],
    commands: [rule('a', MASQUERADE)],
  },
  {
    name: 'rejection in postrouting',
    given: [table, chain('a', filter('postrouting'))],
    commands: [rule('a', { type: 'reject', with: 'portUnreachable' })],
    refused: { command: 0, errno: EOPNOTSUPP },
  },
  {
    name: 'packets are copied to the address of a map',
    given: [table, chain('a', filter('prerouting')), set('m', MAP)],
    commands: [rule('a', SOURCE, lookup('m', FIRST_REGISTER), COPY)],
  },
  {
    name: 'packets are copied to an address that was not loaded',
    given: [table, chain('a', filter('prerouting'))],
    commands: [rule('a', COPY)],
    refused: { command: 0, errno: ENODATA },
  },
  {
    name: 'packets are logged within a limit',
    given: [table, chain('a', filter('forward'))],
    commands: [rule('a', LIMIT, log('p'.repeat(127)))],
  },
  {
    name: 'a prefix that is too long',
    given: [table, chain('a')],
    commands: [rule('a', log('p'.repeat(128)))],
    refused: { command: 0, errno: ERANGE },
  },
  {
    name: 'a limit of no packets',
    given: [table, chain('a')],
    commands: [rule('a', { ...LIMIT, perSecond: 0 })],
    refused: { command: 0, errno: EINVAL },
  },
  {
    name: 'a chain leads to itself',
    given: [table, chain('a', filter('input')), chain('b'), rule('a', go('jump', 'b'))],
    commands: [rule('b', go('jump', 'b'))],
    refused: { command: 0, errno: EMLINK },
  },
  {
    name: 'a chain leads to itself by an element',
    given: [
      table,
      chain('a', filter('input')),
      chain('b'),
      set('v', VERDICTS),
      rule('a', go('jump', 'b')),
      rule('b', ...verdictOf('v')),
    ],
    commands: [chain('c'), add('v', { ...ONE, data: verdict('goto', 'b') })],
    refused: { command: 1, errno: EMLINK },
  },
  { name: 'fifteen jumps', commands: ladder(15) },
  {
    name: 'sixteen jumps',
    given: ladder(15),
    commands: [chain('c16'), rule('c15', go('jump', 'c16'))],
    refused: { command: 1, errno: EMLINK },
  },
]
