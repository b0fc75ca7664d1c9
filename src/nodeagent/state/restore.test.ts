import { expect, test } from 'vitest'
import { PodStory, podObject, podPlan } from '../testing/pod-story.ts'
import { phaseOf } from './pod-state.ts'
import { restorePodState } from './restore.ts'

const RUNNING = {
  phase: 'Running',
  startTime: '1970-01-01T00:00:05Z',
  podIPs: [{ ip: '10.0.0.7' }],
  containerStatuses: [
    {
      name: 'main',
      restartCount: 2,
      state: { running: { startedAt: '1970-01-01T00:00:06Z' } },
      lastState: { terminated: { exitCode: 3, reason: 'Error' } },
    },
  ],
}

test('what ran is started again, as a restart, with its address', () => {
  const plan = podPlan()
  const state = restorePodState(plan, { ...podObject(), status: RUNNING }, 9_000)
  expect(state).toMatchObject({ startedAt: 5_000, network: { phase: 'none', ips: ['10.0.0.7'] } })
  const [container] = state.containers
  expect(container).toMatchObject({
    run: 3,
    end: { exitCode: 137, reason: 'ContainerStatusUnknown', startedAt: 6_000, finishedAt: 9_000 },
    endBefore: { exitCode: 3 },
  })
  const story = new PodStory(plan, state)
  story.at(9)
  expect(story.happens({ is: 'connected', ips: [] })).toEqual(['start main'])
  story.starts()
  expect(story.container().run).toBe(4)
})

test('what was not to run again has failed', () => {
  const plan = podPlan({ restartPolicy: 'Never' })
  const state = restorePodState(plan, { ...podObject(), status: RUNNING }, 9_000)
  expect(phaseOf(plan, state)).toBe('Failed')
  expect(new PodStory(plan, state).at(9)).toEqual([])
})

test.each(['Succeeded', 'Failed'])('%s stays so', (phase) => {
  const plan = podPlan()
  const state = restorePodState(plan, { ...podObject(), status: { ...RUNNING, phase } }, 9_000)
  expect(new PodStory(plan, state).at(9)).toEqual([])
  expect(phaseOf(plan, state)).toBe(phase)
})

test('a status that makes no sense is as good as none', () => {
  const status = {
    podIPs: [{ ip: 'x' }, 7],
    startTime: 'never',
    containerStatuses: [{ name: 'other' }, null, { name: 'main', restartCount: 'x', state: 7 }],
  }
  const plan = podPlan()
  const state = restorePodState(plan, { ...podObject(), status }, 9_000)
  expect(state).toMatchObject({ startedAt: 9_000, network: { ips: [] }, containers: [{ run: 0 }] })
})
