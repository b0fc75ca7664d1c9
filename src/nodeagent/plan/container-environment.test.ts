import { expect, test } from 'vitest'
import type { IpAddress } from '../../lib/ip.ts'
import { containers, podPlan } from '../testing/pod-story.ts'
import { type Circumstances, containerEnvironment } from './container-environment.ts'
import { expand } from './expand.ts'

const HERE: Circumstances = {
  podIPs: ['10.0.0.7' as IpAddress, 'fd00::7' as IpAddress],
  hostIP: '192.0.2.10',
  services: [
    { name: 'WEB_SERVICE_HOST', value: '10.96.0.7' },
    { name: 'WEB_SERVICE_PORT', value: '80' },
  ],
}

function field(name: string, fieldPath: string) {
  return { name, valueFrom: { fieldRef: { fieldPath } } }
}

test('Services, then its own, each of which may use those before', () => {
  const env = [
    { name: 'URL', value: 'http://$(WEB_SERVICE_HOST):$(WEB_SERVICE_PORT)/$(LATER)' },
    { name: 'LATER', value: 'x' },
    { name: 'WEB_SERVICE_HOST', value: 'web' },
    { name: 'AGAIN', value: '$(URL) $(LATER) $(WEB_SERVICE_HOST)' },
    { name: 'PATH', value: '/bin' },
  ]
  const plan = podPlan(containers({ env }))
  expect(Object.fromEntries(containerEnvironment(plan, plan.containers[0]!, HERE))).toEqual({
    PATH: '/bin',
    HOSTNAME: 'web',
    WEB_SERVICE_HOST: 'web',
    WEB_SERVICE_PORT: '80',
    URL: 'http://10.96.0.7:80/$(LATER)',
    LATER: 'x',
    AGAIN: 'http://10.96.0.7:80/$(LATER) x web',
  })
})

test.each([
  ['metadata.name', 'web'],
  ['metadata.namespace', 'default'],
  ['metadata.uid', 'u1'],
  ["metadata.labels['app']", 'shop'],
  ["metadata.labels['__proto__']", ''],
  ["metadata.annotations['orch.io/a']", 'b'],
  ['spec.nodeName', 'n1'],
  ['spec.serviceAccountName', 'robot'],
  ['status.podIP', '10.0.0.7'],
  ['status.podIPs', '10.0.0.7,fd00::7'],
  ['status.hostIP', '192.0.2.10'],
])('%s', (path, value) => {
  const metadata = { labels: { app: 'shop' }, annotations: { 'orch.io/a': 'b' } }
  const spec = { ...containers({ env: [field('A', path)] }), nodeName: 'n1' }
  const plan = podPlan({ ...spec, serviceAccountName: 'robot' }, metadata)
  expect(plan.containers[0]?.fault).toBeUndefined()
  expect(containerEnvironment(plan, plan.containers[0]!, HERE).get('A')).toBe(value)
})

test.each([
  ['$(A)-$(A)', '1-1'],
  ['$$(A)', '$(A)'],
  ['$$$(A)', '$1'],
  ['$(B)', '$(B)'],
  ['$A ${A} $( $', '$A ${A} $( $'],
  ['$(B)$(A', '$(B)$(A'],
])('%s becomes %s', (text, wanted) => {
  expect(expand(text, new Map([['A', '1']]))).toBe(wanted)
})

test('variables that double each other end before the kernel would refuse them', () => {
  const doubled = Array.from({ length: 64 }, (_, index) => ({
    name: `V${index + 1}`,
    value: `$(V${index})$(V${index})`,
  }))
  const env = [{ name: 'V0', value: 'xxxxxxxx' }, ...doubled]
  const pod = podPlan(containers({ env }))
  const variables = () => containerEnvironment(pod, pod.containers[0]!, HERE)
  expect(variables).toThrow('grows beyond 131072 bytes')
})

test('so does an environment of many long variables', () => {
  const value = 'x'.repeat(100_000)
  const env = Array.from({ length: 30 }, (_, index) => ({ name: `V${index}`, value }))
  const pod = podPlan(containers({ env }))
  expect(() => containerEnvironment(pod, pod.containers[0]!, HERE)).toThrow('env grows beyond')
})
