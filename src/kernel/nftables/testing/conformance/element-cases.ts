import { constants } from 'node:os'
import {
  ADDRESSES,
  add,
  bytes,
  chain,
  FIELD_RANGES,
  MAP,
  nat,
  RANGES,
  remove,
  set,
  table,
  VERDICTS,
  verdict,
} from './commands.ts'
import type { RefusalCase } from './refusal-case.ts'

const { EEXIST, EINVAL, ENFILE, ENOENT, EOPNOTSUPP } = constants.errno

const ONE = { key: bytes(10, 0, 0, 1) }
const TWO = { key: bytes(10, 0, 0, 2) }
const TO_ONE = { ...ONE, data: ONE.key }
const TO_TWO = { ...ONE, data: TWO.key }
const of = (from: number, to: number) => ({
  key: bytes(10, 0, 0, from),
  keyEnd: bytes(10, 0, 0, to),
})
/** A range in each of two fields. */
const fields = (from: number, to: number) => ({
  key: Buffer.concat([bytes(10, 0, 0, 1), bytes(10, 0, from, 0)]),
  keyEnd: Buffer.concat([bytes(10, 0, 0, 1), bytes(10, 0, to, 255)]),
})

/** Cases for elements. */
export const ELEMENT_CASES: readonly RefusalCase[] = [
  {
    name: 'an element is there already',
    given: [table, set('s', ADDRESSES), add('s', ONE)],
    commands: [add('s', ONE, TWO)],
  },
  {
    name: 'an element is there with the same data',
    given: [table, set('m', MAP), add('m', TO_ONE)],
    commands: [add('m', TO_ONE)],
  },
  {
    name: 'an element is there with other data',
    given: [table, set('m', MAP), add('m', TO_ONE)],
    commands: [table, add('m', TO_TWO)],
    refused: { command: 1, errno: EEXIST },
  },
  {
    name: 'an element is added twice with different data in one command',
    given: [table, set('m', MAP)],
    commands: [add('m', TO_ONE, TO_TWO)],
    refused: { command: 0, errno: EEXIST },
  },
  {
    name: 'an element is there with another verdict',
    given: [
      table,
      chain('a'),
      chain('b'),
      set('v', VERDICTS),
      add('v', { ...ONE, data: verdict('goto', 'a') }),
    ],
    commands: [add('v', { ...ONE, data: verdict('goto', 'b') })],
    refused: { command: 0, errno: EEXIST },
  },
  {
    name: 'the same chain is the target of another kind of verdict',
    given: [
      table,
      chain('a'),
      set('v', VERDICTS),
      add('v', { ...ONE, data: verdict('goto', 'a') }),
    ],
    commands: [add('v', { ...ONE, data: verdict('jump', 'a') })],
    refused: { command: 0, errno: EEXIST },
  },
  {
    name: 'data are replaced in one transaction',
    given: [table, set('m', MAP), add('m', TO_ONE)],
    commands: [remove('m', ONE), add('m', TO_TWO)],
  },
  {
    name: 'an element of a set that is not there',
    given: [table],
    commands: [add('s', ONE)],
    refused: { command: 0, errno: ENOENT },
  },
  {
    name: 'an element that is not there is deleted',
    given: [table, set('s', ADDRESSES), add('s', ONE)],
    commands: [remove('s', ONE, TWO)],
    refused: { command: 0, errno: ENOENT },
  },
  {
    name: 'an element is deleted twice',
    given: [table, set('s', ADDRESSES), add('s', ONE)],
    commands: [remove('s', ONE), remove('s', ONE)],
    refused: { command: 1, errno: ENOENT },
  },
  {
    name: 'a set is full',
    given: [table, set('s', { ...ADDRESSES, size: 1 }), add('s', ONE)],
    commands: [add('s', TWO)],
    refused: { command: 0, errno: ENFILE },
  },
  {
    name: 'the same element again in a full set',
    given: [table, set('s', { ...ADDRESSES, size: 1 }), add('s', ONE)],
    commands: [add('s', ONE)],
  },
  {
    name: 'a full set takes an element behind a deletion',
    given: [table, set('s', { ...ADDRESSES, size: 1 }), add('s', ONE)],
    commands: [remove('s', ONE), add('s', TWO)],
  },
  {
    name: 'a key is too short',
    given: [table, set('s', FIELD_RANGES)],
    commands: [add('s', ONE)],
    refused: { command: 0, errno: EINVAL },
  },
  {
    name: 'data are too short',
    given: [table, set('m', { ...MAP, data: ['ipv4_addr', 'inet_service'] })],
    commands: [add('m', TO_ONE)],
    refused: { command: 0, errno: EINVAL },
  },
  {
    name: 'data in a set',
    given: [table, set('s', ADDRESSES)],
    commands: [add('s', TO_ONE)],
    refused: { command: 0, errno: EINVAL },
  },
  {
    name: 'no data in a map',
    given: [table, set('m', MAP)],
    commands: [add('m', ONE)],
    refused: { command: 0, errno: EINVAL },
  },
  {
    name: 'a verdict in a map of data',
    given: [table, set('m', MAP)],
    commands: [add('m', { ...ONE, data: { kind: 'drop' } })],
    refused: { command: 0, errno: EINVAL },
  },
  {
    name: 'a verdict leads to a chain that is not there',
    given: [table, set('v', VERDICTS)],
    commands: [add('v', { ...ONE, data: verdict('goto', 'a') })],
    refused: { command: 0, errno: ENOENT },
  },
  {
    name: 'a verdict leads to a chain that the kernel calls',
    given: [table, set('v', VERDICTS), chain('a', nat('output'))],
    commands: [add('v', { ...ONE, data: verdict('goto', 'a') })],
    refused: { command: 0, errno: EOPNOTSUPP },
  },
  {
    name: 'a timeout in a set without timeouts',
    given: [table, set('s', ADDRESSES)],
    commands: [add('s', { ...ONE, timeout: 1_000 })],
    refused: { command: 0, errno: EINVAL },
  },
  {
    name: 'the same element with another timeout',
    given: [
      table,
      set('s', { ...ADDRESSES, hasTimeouts: true }),
      add('s', { ...ONE, timeout: 60_000 }),
    ],
    commands: [add('s', { ...ONE, timeout: 90_000 })],
  },
  {
    name: 'ranges that only touch',
    given: [table, set('r', RANGES), add('r', of(1, 9))],
    commands: [add('r', of(10, 20))],
  },
  {
    name: 'a range within another one',
    given: [table, set('r', RANGES), add('r', of(1, 9))],
    commands: [add('r', of(3, 5))],
    refused: { command: 0, errno: EEXIST },
  },
  {
    name: 'a range that begins in another one',
    given: [table, set('r', RANGES), add('r', of(1, 9))],
    commands: [add('r', of(5, 12))],
    refused: { command: 0, errno: EEXIST },
  },
  {
    name: 'a range that ends in another one',
    given: [table, set('r', RANGES), add('r', of(5, 9))],
    commands: [add('r', of(1, 7))],
    refused: { command: 0, errno: EEXIST },
  },
  {
    name: 'a range takes the place of another one',
    given: [table, set('r', RANGES), add('r', of(1, 9))],
    commands: [remove('r', of(1, 9)), add('r', of(3, 5))],
  },
  {
    name: 'a range that is not there is deleted',
    given: [table, set('r', RANGES), add('r', of(1, 9))],
    commands: [remove('r', of(2, 9))],
    refused: { command: 0, errno: ENOENT },
  },
  {
    name: 'ranges of fields apart from each other',
    given: [table, set('f', FIELD_RANGES), add('f', fields(1, 2))],
    commands: [add('f', fields(3, 4))],
  },
  {
    name: 'the same range of fields again',
    given: [table, set('f', FIELD_RANGES), add('f', fields(1, 2))],
    commands: [add('f', fields(1, 2))],
  },
  {
    name: 'a range of fields within another one',
    given: [table, set('f', FIELD_RANGES), add('f', fields(1, 9))],
    commands: [add('f', fields(3, 5))],
    refused: { command: 0, errno: EEXIST },
  },
  {
    name: 'a range of fields that ends before it begins',
    given: [table, set('f', FIELD_RANGES)],
    commands: [add('f', fields(5, 3))],
    refused: { command: 0, errno: EINVAL },
  },
  {
    name: 'a range of fields that is not there is deleted',
    given: [table, set('f', FIELD_RANGES), add('f', fields(1, 2))],
    commands: [remove('f', fields(7, 8))],
    refused: { command: 0, errno: ENOENT },
  },
]
