import { expect, test } from 'vitest'
import { podStatus } from '../pods/pod-status.ts'
import { containers, PodStory, podPlan } from '../testing/pod-story.ts'

const WITH_VOLUME = { ...containers({}), volumes: [{ name: 'v', emptyDir: {} }] }

/** The reason and the message of the first container's wait. */
function waitOf({ plan, state }: PodStory) {
  const { containerStatuses } = podStatus(plan, state, {
    now: 0,
    hostIPs: [],
    before: {},
    isHeard: true,
  })
  return containerStatuses
}

test('containers start when the network and the volumes are made', () => {
  const story = new PodStory(podPlan(WITH_VOLUME))
  expect(story.at(0)).toEqual(['connect'])
  expect(story.happens({ is: 'connected', ips: [] })).toEqual(['mount'])
  expect(story.at(1)).toEqual([])
  expect(story.happens({ is: 'mounted' })).toEqual(['start main'])
})

test('volumes that cannot be made are tried again ever more rarely, and the status has the reason', () => {
  const story = new PodStory(podPlan(WITH_VOLUME))
  story.at(0)
  story.happens({ is: 'connected', ips: [] })
  const message = 'secret "db" not found'
  for (const wait of [1, 2, 4, 8, 16, 32, 64, 122, 122]) {
    expect(story.happens({ is: 'unmounted', message })).toEqual([])
    expect(story.wakeAt).toBe(story.second + wait)
    expect(waitOf(story)).toMatchObject([
      { state: { waiting: { reason: 'ContainerCreating', message } } },
    ])
    expect(story.at(story.second + wait)).toEqual(['mount'])
  }
})

test('a Pod that is stopped while its volumes are made starts nothing', () => {
  const story = new PodStory(podPlan(WITH_VOLUME))
  story.at(0)
  story.happens({ is: 'connected', ips: [] })
  expect(story.happens({ is: 'stopped', graceMs: 0 })).toEqual(['disconnect'])
  expect(story.happens({ is: 'mounted' })).toEqual([])
})

test('volumes that are refused keep the Pod from the network', () => {
  const hostPath = { volumes: [{ name: 'v', hostPath: { path: '/' } }] }
  const story = new PodStory(podPlan({ ...containers({}), ...hostPath }))
  expect(story.at(0)).toEqual([])
})

test('a container that lacks its configuration waits with that reason, and is tried again', () => {
  const story = new PodStory(podPlan())
  story.at(0)
  story.happens({ is: 'connected', ips: [] })
  const refused = { is: 'refused', container: 'main', run: 1, message: 'no' } as const
  expect(story.happens({ ...refused, isUnconfigured: true })).toEqual([])
  expect(waitOf(story)).toMatchObject([
    { state: { waiting: { reason: 'CreateContainerConfigError', message: 'no' } } },
  ])
  expect(story.at(10)).toEqual(['start main'])
  story.happens(refused)
  expect(waitOf(story)).toMatchObject([{ state: { waiting: { reason: 'RunContainerError' } } }])
})
