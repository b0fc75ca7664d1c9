import { expect, test } from 'vitest'
import type { Reply } from '../environment/request.ts'
import { type StepResult, stepText, summary } from './run-tour.ts'
import { TOUR } from './steps.ts'

const PLACE = { run: 'np-sandbox-7', kubeconfig: '/tmp/np-sandbox-7-Xa1/admin.kubeconfig' }
const by = (pod: string, saw: string): Reply => ({
  kind: 'answered',
  ms: 1,
  pod,
  saw,
  lost: 0,
  metTimeWait: 0,
  address: '10.96.0.10',
})
const replies = [by('pod-2', '192.0.2.20'), by('pod-1', '10.244.0.1'), by('pod-2', '192.0.2.20')]

test('sums up who answered, whom they saw, and who did not', () => {
  expect(summary(replies)).toBe('3 answered: pod-1 1, pod-2 2; source seen: 10.244.0.1, 192.0.2.20')
  expect(
    summary([
      { kind: 'refused', ms: 1 },
      { kind: 'silent', ms: 1 },
    ]),
  ).toBe('1 refused; 1 silent')
})

function result(problems: readonly string[]): StepResult {
  return {
    step: {
      title: 'A pod requests',
      action: { description: 'kill pod-3', run: () => Promise.resolve() },
      request: { from: 'pod-1', service: 'web', url: 'http://web/' },
      times: 3,
      expected: { kind: 'refused' },
    },
    replies,
    problems,
    log: ['info synced'],
  }
}

test('a step shows the action, the command for a terminal and what came of it', () => {
  expect(stepText(PLACE, 4, result([])).split('\n')).toEqual([
    ' 4. A pod requests',
    '    # kill pod-3',
    '    $ ip netns exec np-sandbox-7-node bin/orchctl --kubeconfig /tmp/np-sandbox-7-Xa1/admin.kubeconfig exec pod-1 -- curl -s http://web/   # 3 times',
    '    3 answered: pod-1 1, pod-2 2; source seen: 10.244.0.1, 192.0.2.20; web is 10.96.0.10',
    '    ok',
    '',
  ])
})

test('a step names what an earlier connection had a part in, and is right', () => {
  const met: Reply = { ...by('pod-1', '10.244.0.1'), metTimeWait: 1 } as Reply
  const lines = stepText(PLACE, 4, { ...result([]), replies: [...replies, met] }).split('\n')
  expect(lines.slice(4)).toEqual([
    "    1 repeated a SYN that an earlier connection's TIME_WAIT had answered (known)",
    '    ok',
    '',
  ])
})

test('a failed step shows why, and the last log lines of the daemon', () => {
  expect(
    stepText(PLACE, 4, result(['too bad']))
      .split('\n')
      .slice(4),
  ).toEqual(['    WRONG: too bad', '      node-proxy: info synced', ''])
})

test('the tour shows the API, refusal, silence, affinity, scaling, dead and draining pods and the clean-up', () => {
  const kinds = new Set(TOUR.map(({ expected }) => expected.kind))
  expect([...kinds].toSorted()).toEqual(['answered', 'api', 'refused', 'silent', 'unanswered'])
  const actions = TOUR.flatMap(({ action }) => action?.description ?? [])
  expect(actions.join('; ')).toMatch(/scale .* 1.*scale .* 3.*kill .*replace .*SIGTERM .*--cleanup/)
})
