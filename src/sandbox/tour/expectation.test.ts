import { expect, test } from 'vitest'
import type { Reply } from '../environment/request.ts'
import { countPods, type Expectation, judge } from './expectation.ts'

const addressOf = (pod: string): string => pod.replace('pod-', '10.244.0.')

const refused: Reply = { kind: 'refused', ms: 1 }
const silent: Reply = { kind: 'silent', ms: 900 }
const failed: Reply = { kind: 'failed', ms: 1, code: 'ECONNRESET' }

function by(pod: string, saw = '192.0.2.20'): Reply {
  return { kind: 'answered', ms: 1, pod, saw, lost: 0, metTimeWait: 0, address: '10.96.0.10' }
}

const all: Expectation = {
  kind: 'answered',
  pods: ['pod-1', 'pod-2'],
  spread: 'all',
  saw: (pod) => (pod === 'pod-1' ? ['10.244.0.1'] : ['192.0.2.20']),
}

test('is content when every pod answered and saw whom it should', () => {
  expect(judge(all, [by('pod-2'), by('pod-1', '10.244.0.1'), by('pod-2')], addressOf)).toEqual([])
})

test('is content when a first packet was answered by a TIME_WAIT, not when another one was lost', () => {
  const met = { ...by('pod-2'), metTimeWait: 1 } as Reply
  const expected: Expectation = { ...all, pods: ['pod-2'] }
  expect(judge(expected, [met, by('pod-2')], addressOf)).toEqual([])
  expect(judge(expected, [{ ...met, lost: 1 } as Reply], addressOf)).toEqual([
    '1 of 1 got through only after a packet had been lost',
  ])
})

test.each<[string, Expectation, readonly Reply[], readonly string[]]>([
  ['no request', all, [], ['no request was sent']],
  ['a pod left out', all, [by('pod-2')], ['pod-1 never answered']],
  [
    'a pod too many',
    { ...all, saw: () => ['192.0.2.20'] },
    [by('pod-1'), by('pod-2'), by('pod-3'), by('pod-3')],
    ['pod-3 answered 2 times, but must not'],
  ],
  [
    'a wrong source, reported once',
    all,
    [by('pod-1'), by('pod-1'), by('pod-2')],
    ['pod-1 saw 192.0.2.20, not 10.244.0.1'],
  ],
  [
    'one request lost',
    all,
    [by('pod-2'), failed, by('pod-1', '10.244.0.1')],
    ['1 of 3 were not answered, but failed (ECONNRESET)'],
  ],
  [
    'a packet lost on the way',
    { ...all, pods: ['pod-2'] },
    [by('pod-2'), { ...by('pod-2'), lost: 2 } as Reply],
    ['1 of 2 got through only after a packet had been lost'],
  ],
  [
    'affinity broken',
    { ...all, spread: 'one', saw: () => ['192.0.2.20'] },
    [by('pod-1'), by('pod-2')],
    ['pod-1 and pod-2 answered, not one pod'],
  ],
  [
    'an answer where silence is due',
    { kind: 'silent' },
    [by('pod-1')],
    ['1 of 1 were not silent, but answered by pod-1, which saw 192.0.2.20'],
  ],
  [
    'silence where refusal is due',
    { kind: 'refused' },
    [refused, silent],
    ['1 of 2 were not refused, but silent'],
  ],
])('finds %s', (_what, expected, replies, problems) => {
  expect(judge(expected, replies, addressOf)).toEqual(problems)
})

test('any of the pods may answer while one of them drains, and no other one', () => {
  const expected: Expectation = { ...all, spread: 'any', saw: () => ['192.0.2.20'] }
  expect(judge(expected, [by('pod-1')], addressOf)).toEqual([])
  expect(judge(expected, [by('pod-3')], addressOf)).toEqual([
    'pod-3 answered 1 times, but must not',
  ])
})

test('unanswered is refusal, silence or failure', () => {
  expect(judge({ kind: 'unanswered' }, [refused, silent, failed], addressOf)).toEqual([])
  expect(judge({ kind: 'unanswered' }, [by('pod-1')], addressOf)).toHaveLength(1)
})

test('counts pods by name', () => {
  expect([...countPods([by('pod-2'), refused, by('pod-1'), by('pod-2')])]).toEqual([
    ['pod-1', 1],
    ['pod-2', 2],
  ])
})

test('of the API server, status and text must be as expected', () => {
  const expected = { kind: 'api', status: 403, text: 'forbidden' } as const
  const refused: Reply = { kind: 'api', ms: 1, status: 403, text: 'secrets is forbidden' }
  const judged = (reply: Reply) => judge(expected, [reply], () => '')
  expect(judged(refused)).toEqual([])
  expect(judged({ ...refused, status: 200 })).toEqual([
    'not 403 with forbidden, but 200 secrets is forbidden',
  ])
  expect(judged({ ...refused, text: 'other' })).toEqual(['not 403 with forbidden, but 403 other'])
  expect(judged({ kind: 'refused', ms: 1 })).toEqual(['not 403 with forbidden, but refused'])
})
