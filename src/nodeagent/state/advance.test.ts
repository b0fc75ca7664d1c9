import { expect, test } from 'vitest'
import { containers, PodStory, podPlan } from '../testing/pod-story.ts'
import { isFinished } from './advance.ts'
import { phaseOf } from './pod-state.ts'
import { isReady } from './probing.ts'

const probe = { tcpSocket: { port: 80 }, periodSeconds: 5 }

test('an address comes first, then every container; no action is repeated', () => {
  const story = new PodStory(podPlan(containers({}, {})))
  expect(story.at(0)).toEqual(['connect'])
  expect(story.at(0)).toEqual([])
  expect(phaseOf(story.plan, story.state)).toBe('Pending')
  expect(story.happens({ is: 'connected', ips: [] })).toEqual(['start main', 'start c1'])
  expect(story.starts('main')).toEqual([])
  expect(phaseOf(story.plan, story.state)).toBe('Pending')
  expect(story.starts('c1')).toEqual([])
  expect(phaseOf(story.plan, story.state)).toBe('Running')
  expect(story.wakeAt).toBe(Number.POSITIVE_INFINITY)
})

test('a network that cannot be made is tried again', () => {
  const story = new PodStory(podPlan())
  story.at(0)
  expect(story.happens({ is: 'unconnected', message: 'no' })).toEqual([])
  expect(story.wakeAt).toBe(5)
  expect(story.at(5)).toEqual(['connect'])
})

test('of a Pod that cannot be run as it is written nothing is made', () => {
  const story = new PodStory(podPlan(containers({ command: [] })))
  expect(story.at(0)).toEqual([])
})

test('restarts come at once, then ever later, and at once after a long run', () => {
  const story = new PodStory(podPlan())
  story.runs()
  const waits = [0, 10, 20, 40, 80, 160, 300, 300].map((wait) => {
    const before = story.second
    let done = story.ends(1)
    if (done.length === 0) done = story.at(story.wakeAt)
    expect(done).toEqual(['start main'])
    story.starts()
    return [story.second - before, wait]
  })
  for (const [actual, wanted] of waits) expect(actual).toBe(wanted)
  story.at(story.second + 600)
  expect(story.ends(1)).toEqual(['start main'])
})

test.each([
  ['Always', 0, 'Running', ['start main']],
  ['OnFailure', 0, 'Succeeded', ['disconnect']],
  ['OnFailure', 1, 'Running', ['start main']],
  ['Never', 0, 'Succeeded', ['disconnect']],
  ['Never', 1, 'Failed', ['disconnect']],
])('restartPolicy %s, exit code %i: %s', (restartPolicy, code, phase, done) => {
  const story = new PodStory(podPlan({ restartPolicy }))
  story.runs()
  expect(story.ends(code)).toEqual(done)
  expect(phaseOf(story.plan, story.state)).toBe(phase)
})

test('a Pod is over when the last container is, and as bad as the worst', () => {
  const story = new PodStory(podPlan({ ...containers({}, {}), restartPolicy: 'Never' }))
  story.runs()
  expect(story.ends(1, 'main')).toEqual([])
  expect(story.ends(0, 'c1')).toEqual(['disconnect'])
  expect(phaseOf(story.plan, story.state)).toBe('Failed')
})

test('readiness follows its probe, by its thresholds', () => {
  const readinessProbe = { ...probe, initialDelaySeconds: 2, successThreshold: 2 }
  const story = new PodStory(podPlan(containers({ readinessProbe })))
  story.runs()
  expect([story.wakeAt, isReady(story.container())]).toEqual([2, false])
  const seen = ['pass', 'pass', 'fail', 'unknown', 'fail', 'pass', 'fail', 'fail', 'fail'] as const
  const ready = seen.map((outcome) => {
    expect(story.at(story.wakeAt)).toEqual(['probe main readiness'])
    expect(story.at(story.second)).toEqual([])
    story.probed('readiness', outcome)
    return isReady(story.container())
  })
  expect(ready).toEqual([false, true, true, true, true, true, true, true, false])
})

test('only the startup probe runs until it has passed; then never again', () => {
  const own = { startupProbe: probe, livenessProbe: probe, readinessProbe: probe }
  const story = new PodStory(podPlan(containers(own)))
  expect(story.runs()).toEqual(['probe main startup'])
  expect(story.container().probes.startup?.isBusy).toBe(true)
  expect(story.at(60)).toEqual([])
  expect(story.probed('startup', 'fail')).toEqual(['probe main startup'])
  expect(story.probed('startup', 'pass')).toEqual(['probe main liveness', 'probe main readiness'])
  expect(story.at(600)).toEqual([])
})

test('failed liveness ends the container by its own grace, and it starts again', () => {
  const livenessProbe = { ...probe, failureThreshold: 2, terminationGracePeriodSeconds: 3 }
  const story = new PodStory(podPlan(containers({ livenessProbe })))
  story.runs()
  story.probed('liveness', 'fail')
  expect(story.at(5)).toEqual(['probe main liveness'])
  expect(story.probed('liveness', 'fail')).toEqual(['signal main SIGTERM'])
  expect(story.wakeAt).toBe(8)
  expect(story.at(8)).toEqual(['signal main SIGKILL'])
  expect(story.at(60)).toEqual([])
  expect(story.ends(137)).toEqual(['start main'])
})

test('an answer about an earlier run counts for nothing', () => {
  const story = new PodStory(podPlan(containers({ readinessProbe: probe })))
  story.runs()
  story.ends(1)
  story.starts()
  const late = { container: 'main', run: 1 }
  story.happens({ is: 'probed', kind: 'readiness', outcome: 'pass', message: '', ...late })
  expect(isReady(story.container())).toBe(false)
  expect(story.happens({ is: 'ended', exitCode: 0, signal: 0, ...late })).toEqual([])
  expect(story.container().phase).toBe('running')
})

test('the way out: hook, SIGTERM, readiness still probed, SIGKILL, network', () => {
  const lifecycle = { preStop: { exec: { command: ['bye'] } } }
  const own = { lifecycle, readinessProbe: probe, livenessProbe: probe }
  const story = new PodStory(podPlan(containers(own, {})))
  story.runs()
  story.probed('readiness', 'pass')
  story.probed('liveness', 'pass')
  expect(story.happens({ is: 'stopped', graceMs: 30_000 })).toEqual([
    'hook main',
    'signal c1 SIGTERM',
  ])
  expect(story.ends(0, 'c1')).toEqual([])
  expect(story.at(5)).toEqual(['probe main readiness'])
  expect(story.happens({ is: 'hooked', container: 'main', run: 1 })).toEqual([
    'signal main SIGTERM',
  ])
  story.probed('readiness', 'fail')
  expect(story.at(30)).toEqual(['signal main SIGKILL'])
  expect(story.ends(137)).toEqual(['disconnect'])
  expect(isFinished(story.state)).toBe(false)
  expect(story.happens({ is: 'disconnected' })).toEqual([])
  expect(isFinished(story.state)).toBe(true)
})

test('a later word may only shorten the grace; none at all kills at once', () => {
  const story = new PodStory(podPlan())
  story.runs()
  story.happens({ is: 'stopped', graceMs: 5_000 })
  story.happens({ is: 'stopped', graceMs: 60_000 })
  expect(story.wakeAt).toBe(5)
  expect(story.happens({ is: 'stopped', graceMs: 0 })).toEqual(['signal main SIGKILL'])
})

test('a hook that does not end is overtaken by the deadline', () => {
  const lifecycle = { preStop: { exec: { command: ['sleep'] } } }
  const story = new PodStory(podPlan(containers({ lifecycle })))
  story.runs()
  story.happens({ is: 'stopped', graceMs: 5_000 })
  expect(story.at(5)).toEqual(['signal main SIGKILL'])
  expect(story.happens({ is: 'hooked', container: 'main', run: 1 })).toEqual([])
})

test('a Pod that is stopped while it starts is stopped when it has', () => {
  const story = new PodStory(podPlan())
  story.at(0)
  story.happens({ is: 'connected', ips: [] })
  expect(story.happens({ is: 'stopped', graceMs: 5_000 })).toEqual([])
  expect(story.starts()).toEqual(['signal main SIGTERM'])
})

test('a Pod that never ran ends at once', () => {
  const story = new PodStory(podPlan())
  story.happens({ is: 'stopped', graceMs: 5_000 })
  expect(isFinished(story.state)).toBe(true)
})

test('a program that cannot be started is tried again, ever later', () => {
  const story = new PodStory(podPlan())
  story.at(0)
  story.happens({ is: 'connected', ips: [] })
  const refused = { is: 'refused', container: 'main', run: 1, message: 'no such program' } as const
  expect(story.happens(refused)).toEqual([])
  expect(story.wakeAt).toBe(10)
  expect(story.at(10)).toEqual(['start main'])
  story.happens(refused)
  expect(story.wakeAt).toBe(30)
})
