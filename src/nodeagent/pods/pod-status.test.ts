import { expect, test } from 'vitest'
import type { IpAddress } from '../../lib/ip.ts'
import { arrayAt, type Json, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { restorePodState } from '../state/restore.ts'
import { containers, PodStory, podPlan } from '../testing/pod-story.ts'
import { podStatus } from './pod-status.ts'

const hostIPs = ['192.0.2.10' as IpAddress]

function statusOf(
  { plan, state, second }: PodStory,
  before: JsonObject = {},
  isHeard = false,
): JsonObject {
  return podStatus(plan, state, { now: second * 1000, hostIPs, before, isHeard })
}

function stateOf(status: JsonObject): Json | undefined {
  return arrayAt(status, 'containerStatuses').map((one) => (one as JsonObject)['state'])[0]
}

function summary(status: JsonObject): readonly string[] {
  return arrayAt(status, 'conditions').map((one) => {
    const parts = [stringAt(one, 'type'), stringAt(one, 'status'), stringAt(one, 'reason')]
    return parts.join(' ').trim()
  })
}

test('a Pod that runs', () => {
  const story = new PodStory(podPlan())
  story.at(0)
  story.happens({ is: 'connected', ips: ['10.0.0.7' as IpAddress, 'fd00::7' as IpAddress] })
  story.second = 3
  story.starts()
  const since = '1970-01-01T00:00:03Z'
  expect(statusOf(story)).toEqual({
    phase: 'Running',
    hostIP: '192.0.2.10',
    hostIPs: [{ ip: '192.0.2.10' }],
    podIP: '10.0.0.7',
    podIPs: [{ ip: '10.0.0.7' }, { ip: 'fd00::7' }],
    startTime: '1970-01-01T00:00:00Z',
    conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => {
      return { type, status: 'True', lastTransitionTime: since }
    }),
    containerStatuses: [
      {
        name: 'main',
        image: 'none',
        imageID: '',
        containerID: 'process://4711',
        ready: true,
        started: true,
        restartCount: 0,
        state: { running: { startedAt: since } },
        lastState: {},
      },
    ],
  })
})

test('a condition keeps the time of its last change', () => {
  const story = new PodStory(podPlan())
  story.runs()
  const before = statusOf(story)
  story.at(60)
  expect(statusOf(story, before)).toEqual(before)
  story.ends(1)
  const times = arrayAt(statusOf(story, before), 'conditions').map((one) => {
    return stringAt(one, 'lastTransitionTime').slice(-6)
  })
  expect(times).toEqual(['00:00Z', '00:00Z', '01:00Z', '01:00Z'])
})

test('waiting, and why', () => {
  const story = new PodStory(podPlan())
  expect(stateOf(statusOf(story))).toEqual({ waiting: { reason: 'ContainerCreating' } })
  story.at(0)
  story.happens({ is: 'unconnected', message: 'no address left' })
  expect(stateOf(statusOf(story))).toEqual({
    waiting: { reason: 'ContainerCreating', message: 'no address left' },
  })
  story.happens({ is: 'connected', ips: [] })
  story.happens({ is: 'refused', container: 'main', run: 1, message: 'no program' })
  expect(stateOf(statusOf(story))).toEqual({
    waiting: { reason: 'RunContainerError', message: 'no program' },
  })
  const faulty = new PodStory(podPlan(containers({ command: [] })))
  expect(stateOf(statusOf(faulty))).toMatchObject({
    waiting: { reason: 'CreateContainerConfigError', message: expect.stringContaining('images') },
  })
})

test('a container that keeps failing', () => {
  const story = new PodStory(podPlan())
  story.runs()
  story.ends(1)
  story.starts()
  story.at(5)
  story.ends(7)
  const [container] = arrayAt(statusOf(story), 'containerStatuses')
  expect(container).toMatchObject({
    restartCount: 1,
    state: {
      waiting: {
        reason: 'CrashLoopBackOff',
        message: 'back-off 10s restarting failed container main',
      },
    },
    lastState: { terminated: { exitCode: 7, reason: 'Error', finishedAt: '1970-01-01T00:00:05Z' } },
  })
  expect(summary(statusOf(story)).slice(2)).toEqual([
    'ContainersReady False ContainersNotReady',
    'Ready False ContainersNotReady',
  ])
})

test('a container that starts again at once is not in back-off', () => {
  const story = new PodStory(podPlan())
  story.runs()
  expect(story.ends(1)).toEqual(['start main'])
  expect(stateOf(statusOf(story))).toMatchObject({ terminated: { exitCode: 1 } })
})

test.each([
  [{ running: {} }, 'ContainerStatusUnknown', 4],
  [{ waiting: { reason: 'CrashLoopBackOff' } }, 'Error', undefined],
])('a container that was %o starts again with a new node agent', (state, reason, past) => {
  const lastState = { terminated: { exitCode: 4, reason: 'Error' } }
  const own = { name: 'main', restartCount: 2, state, lastState }
  const object = { status: { phase: 'Running', containerStatuses: [own] } }
  const plan = podPlan()
  const story = new PodStory(plan, restorePodState(plan, object, 60_000))
  story.at(60)
  expect(story.happens({ is: 'connected', ips: [] })).toEqual(['start main'])
  const [container] = arrayAt(statusOf(story), 'containerStatuses')
  expect(container).toMatchObject({ restartCount: 2, state: { terminated: { reason } } })
  expect(valueAt(container, 'lastState', 'terminated', 'exitCode')).toBe(past)
})

test.each([
  [0, 'Succeeded', 'Completed', 'PodCompleted'],
  [3, 'Failed', 'Error', 'PodFailed'],
])('a Pod that ended with %i', (exitCode, phase, reason, why) => {
  const story = new PodStory(podPlan({ restartPolicy: 'Never' }))
  story.runs()
  story.ends(exitCode)
  story.happens({ is: 'disconnected' })
  const status = statusOf(story)
  expect(status).toMatchObject({ phase })
  expect(stateOf(status)).toMatchObject({ terminated: { exitCode, reason } })
  expect(summary(status)[3]).toBe(`Ready False ${why}`)
})

test('a signal is reported', () => {
  const story = new PodStory(podPlan({ restartPolicy: 'Never' }))
  story.runs()
  story.happens({ is: 'ended', container: 'main', run: 1, exitCode: 0, signal: 9 })
  expect(stateOf(statusOf(story))).toMatchObject({ terminated: { exitCode: 137, signal: 9 } })
})

test('a container that was stopped is over, whatever the policy', () => {
  const story = new PodStory(podPlan())
  story.runs()
  story.ends(1)
  story.starts()
  story.happens({ is: 'stopped', graceMs: 5_000 })
  expect(stateOf(statusOf(story))).toHaveProperty('running')
  story.ends(0)
  expect(stateOf(statusOf(story))).toHaveProperty('terminated')
})

test('readiness waits for the conditions of other programs', () => {
  const story = new PodStory(podPlan({ readinessGates: [{ conditionType: 'orch.io/drained' }] }))
  story.runs()
  expect(summary(statusOf(story)).slice(2)).toEqual([
    'ContainersReady True',
    'Ready False ReadinessGatesNotReady',
  ])
  const before = { conditions: [{ type: 'orch.io/drained', status: 'True' }] }
  expect(summary(statusOf(story, before))[3]).toBe('Ready True')
})

test('readiness that was taken from a silent node comes back once the node is heard', () => {
  const story = new PodStory(podPlan())
  story.runs()
  const taken = { type: 'Ready', status: 'False', reason: 'NodeStatusUnknown' }
  const before = { conditions: [taken] }
  const own = ['PodScheduled True', 'Initialized True', 'ContainersReady True']
  expect(summary(statusOf(story, before))).toEqual(own)
  expect(summary(statusOf(story, before, true))).toEqual([...own, 'Ready True'])
  const lost = { conditions: [{ ...taken, reason: 'ContainersNotReady' }] }
  expect(summary(statusOf(story, lost))).toEqual([...own, 'Ready True'])
  story.ends(1)
  expect(summary(statusOf(story, before))[3]).toBe('Ready False ContainersNotReady')
})
