import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import { all, clusterWith, type Stored } from '../testing/cluster-with.ts'
import { rawPod, rawService } from '../testing/fixtures.ts'
import { chooseNode } from './choose-node.ts'
import { nameOf } from './testing/naive-scheduler.ts'
import { requesting, waitingPod, worker } from './testing/placements.ts'

const HOST = 'kubernetes.io/hostname'
const ZONE = 'topology.kubernetes.io/zone'
const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution'
const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution'

/** The node for a Pod, or why there is none. */
function chosen(pod: JsonObject, ...objects: readonly Stored[]): string {
  const { view } = clusterWith(...objects, ['pods', pod])
  const found = view.pods.get('shop/web-1')
  if (found?.placement === undefined) throw new Error('the Pod is not to be bound')
  const choice = chooseNode({ pod: found, placement: found.placement }, view)
  return 'node' in choice ? choice.node : choice.problem
}

/** Where a Pod with this spec goes in a cluster of the node `a`. */
function onNode(spec: JsonObject, node: JsonObject, ...pods: readonly JsonObject[]): string {
  return chosen(waitingPod(1, { spec }), ['nodes', node], ...all('pods', pods))
}

function without(reason: string): string {
  return `0/1 nodes are available: ${reason}.`
}

const taint = (key: string, effect = 'NoSchedule', value = '') => ({ key, effect, value })
const tainted = (...taints: readonly JsonObject[]) => worker('a', { spec: { taints: [...taints] } })
const state = (status: string) => worker('a', { ready: { type: 'Ready', status } })
const NOT_READY = 'node.kubernetes.io/not-ready'
const UNREACHABLE = 'node.kubernetes.io/unreachable'

test.each<[string, JsonObject, JsonObject[], string]>([
  ['a ready node', worker('a'), [], 'a'],
  ['not ready', state('False'), [], `1 node(s) had untolerated taint {${NOT_READY}: }`],
  ['silent', state('Unknown'), [], `1 node(s) had untolerated taint {${UNREACHABLE}: }`],
  [
    'no status',
    { metadata: { name: 'a' } },
    [],
    `1 node(s) had untolerated taint {${NOT_READY}: }`,
  ],
  ['not ready, tolerated', state('False'), [{ key: NOT_READY, operator: 'Exists' }], 'a'],
  [
    'another state',
    state('False'),
    [{ key: UNREACHABLE, operator: 'Exists' }],
    `1 node(s) had untolerated taint {${NOT_READY}: }`,
  ],
  ['cordoned', worker('a', { spec: { unschedulable: true } }), [], '1 node(s) were unschedulable'],
  [
    'cordoned, tolerated',
    worker('a', { spec: { unschedulable: true } }),
    [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists' }],
    'a',
  ],
  ['a taint', tainted(taint('k', 'NoSchedule', 'v')), [], '1 node(s) had untolerated taint {k: v}'],
  ['NoExecute', tainted(taint('k', 'NoExecute')), [], '1 node(s) had untolerated taint {k: }'],
  ['PreferNoSchedule', tainted(taint('k', 'PreferNoSchedule')), [], 'a'],
  ['an equal value', tainted(taint('k', 'NoSchedule', 'v')), [{ key: 'k', value: 'v' }], 'a'],
  [
    'another value',
    tainted(taint('k', 'NoSchedule', 'v')),
    [{ key: 'k', value: 'w' }],
    '1 node(s) had untolerated taint {k: v}',
  ],
  ['any value', tainted(taint('k', 'NoSchedule', 'v')), [{ key: 'k', operator: 'Exists' }], 'a'],
  [
    'this effect',
    tainted(taint('k')),
    [{ key: 'k', operator: 'Exists', effect: 'NoSchedule' }],
    'a',
  ],
  [
    'another effect',
    tainted(taint('k')),
    [{ key: 'k', operator: 'Exists', effect: 'NoExecute' }],
    '1 node(s) had untolerated taint {k: }',
  ],
  ['any taint', tainted(taint('k'), taint('l')), [{ operator: 'Exists' }], 'a'],
  [
    'one of two',
    tainted(taint('k'), taint('l')),
    [{ key: 'k', operator: 'Exists' }],
    '1 node(s) had untolerated taint {l: }',
  ],
])('state and taints: %s', (_, node, tolerations, expected) => {
  const outcome = onNode({ tolerations }, node)
  expect(outcome).toBe(expected === 'a' ? 'a' : without(expected))
})

const MISMATCH = without("1 node(s) didn't match Pod's node affinity/selector")
const term = (key: string, operator: string, ...values: string[]) => ({
  matchExpressions: [values.length === 0 ? { key, operator } : { key, operator, values }],
})
const field = (operator: string, ...values: string[]) => ({
  matchFields: [{ key: 'metadata.name', operator, values }],
})

test.each<[string, readonly JsonObject[], boolean]>([
  ['In', [term('disk', 'In', 'slow', 'fast')], true],
  ['In, another value', [term('disk', 'In', 'slow')], false],
  ['In, no label', [term('none', 'In', '')], false],
  ['NotIn', [term('disk', 'NotIn', 'slow')], true],
  ['NotIn, this value', [term('disk', 'NotIn', 'fast')], false],
  ['NotIn, no label', [term('none', 'NotIn', 'x')], true],
  ['Exists', [term('disk', 'Exists')], true],
  ['Exists, no label', [term('none', 'Exists')], false],
  ['an inherited name', [term('constructor', 'Exists')], false],
  ['DoesNotExist', [term('none', 'DoesNotExist')], true],
  ['DoesNotExist, a label', [term('disk', 'DoesNotExist')], false],
  ['Gt', [term('cores', 'Gt', '7')], true],
  ['Gt, equal', [term('cores', 'Gt', '8')], false],
  ['Lt', [term('cores', 'Lt', '9')], true],
  ['Lt, equal', [term('cores', 'Lt', '8')], false],
  ['Lt, no number', [term('disk', 'Lt', '9')], false],
  ['Gt, no label', [term('none', 'Gt', '-1')], false],
  ['an unknown operator', [term('disk', 'Near', 'fast')], false],
  ['a name', [field('In', 'a')], true],
  ['another name', [field('In', 'b')], false],
  ['not a name', [field('NotIn', 'a')], false],
  ['one of two terms', [term('none', 'Exists'), field('In', 'a')], true],
  ['one requirement of two', [{ ...term('none', 'Exists'), ...field('In', 'a') }], false],
  ['an empty term', [{}], false],
  ['no term', [], false],
])('node affinity: %s', (_, nodeSelectorTerms, fits) => {
  const affinity = { nodeAffinity: { [REQUIRED]: { nodeSelectorTerms: [...nodeSelectorTerms] } } }
  const node = worker('a', { labels: { disk: 'fast', cores: '8' } })
  expect(onNode({ affinity }, node)).toBe(fits ? 'a' : MISMATCH)
})

test.each<[JsonObject, boolean]>([
  [{ disk: 'fast' }, true],
  [{ disk: 'slow' }, false],
  [{ disk: 'fast', none: '' }, false],
  [{}, true],
])('nodeSelector %j', (nodeSelector, fits) => {
  const node = worker('a', { labels: { disk: 'fast' } })
  expect(onNode({ nodeSelector }, node)).toBe(fits ? 'a' : MISMATCH)
})

const small = worker('a', {
  cpu: '2',
  memory: '1Gi',
  pods: '2',
  others: { 'example.com/gpu': '1', 'ephemeral-storage': '1Gi' },
})
const taking = (request: JsonObject, serial = 9) =>
  rawPod(serial, { spec: { nodeName: 'a', ...requesting(request) } })
const init = (request: JsonObject, more: JsonObject = {}) => ({
  name: 'i',
  resources: { requests: request },
  ...more,
})
const ALWAYS = { restartPolicy: 'Always' }
const ended = { ...taking({ cpu: '2' }), status: { phase: 'Failed' } }

test.each<[string, JsonObject, JsonObject[], string]>([
  ['all of it', requesting({ cpu: '2', memory: '1Gi' }), [], 'a'],
  ['too much', requesting({ cpu: '2001m' }), [], '1 Insufficient cpu'],
  [
    'several',
    requesting({ cpu: '3', memory: '2Gi' }),
    [],
    '1 Insufficient cpu, 1 Insufficient memory',
  ],
  ['the sum of containers', requesting({ cpu: '1' }, { cpu: '1.5' }), [], '1 Insufficient cpu'],
  ['beside others', requesting({ cpu: '1' }), [taking({ cpu: '1' })], 'a'],
  ['not beside others', requesting({ cpu: '1' }), [taking({ cpu: '1001m' })], '1 Insufficient cpu'],
  ['nothing on a node that is over its limit', {}, [taking({ cpu: '3' })], 'a'],
  ['beside one that has ended', requesting({ cpu: '2' }), [ended], 'a'],
  ['too many Pods', {}, [taking({}, 8), taking({}, 9)], '1 Too many pods'],
  ['storage', requesting({ 'ephemeral-storage': '2Gi' }), [], '1 Insufficient ephemeral-storage'],
  ['a device', requesting({ 'example.com/gpu': '1' }), [], 'a'],
  [
    'a taken device',
    requesting({ 'example.com/gpu': '1' }),
    [taking({ 'example.com/gpu': 1 })],
    '1 Insufficient example.com/gpu',
  ],
  [
    'an unknown device',
    requesting({ 'example.com/tpu': '1' }),
    [],
    '1 Insufficient example.com/tpu',
  ],
  ['none of an unknown device', requesting({ 'example.com/tpu': '0' }), [], 'a'],
  [
    'a limit without a request',
    { containers: [{ name: 'm', resources: { limits: { cpu: '3' } } }] },
    [],
    '1 Insufficient cpu',
  ],
  [
    'a limit and a request',
    { containers: [{ name: 'm', resources: { limits: { cpu: '3' }, requests: { cpu: '1' } } }] },
    [],
    'a',
  ],
  [
    'the greatest init container',
    { ...requesting({ cpu: '1' }), initContainers: [init({ cpu: '2' }), init({ cpu: '2' })] },
    [],
    'a',
  ],
  [
    'a greater init container',
    { ...requesting({ cpu: '1' }), initContainers: [init({ cpu: '3' })] },
    [],
    '1 Insufficient cpu',
  ],
  [
    'a sidecar',
    { ...requesting({ cpu: '1' }), initContainers: [init({ cpu: '2' }, ALWAYS)] },
    [],
    '1 Insufficient cpu',
  ],
  [
    'an init container after a sidecar',
    { ...requesting({}), initContainers: [init({ cpu: '1' }, ALWAYS), init({ cpu: '2' })] },
    [],
    '1 Insufficient cpu',
  ],
  [
    'an init container before a sidecar',
    { ...requesting({}), initContainers: [init({ cpu: '2' }), init({ cpu: '1' }, ALWAYS)] },
    [],
    'a',
  ],
  [
    'the overhead',
    { ...requesting({ cpu: '2' }), overhead: { cpu: '1m' } },
    [],
    '1 Insufficient cpu',
  ],
])('resources: %s', (_, spec, pods, expected) => {
  expect(onNode(spec, small, ...pods)).toBe(expected === 'a' ? 'a' : without(expected))
})

const ports = (...list: readonly JsonObject[]) => ({
  containers: [{ name: 'm', ports: [...list] }],
})
const PORT_TAKEN = without("1 node(s) didn't have free ports for the requested pod ports")

test.each<[string, JsonObject, JsonObject, boolean]>([
  ['the same port', ports({ hostPort: 80 }), ports({ hostPort: 80 }), false],
  ['another port', ports({ hostPort: 80 }), ports({ hostPort: 81 }), true],
  ['another protocol', ports({ hostPort: 53 }), ports({ hostPort: 53, protocol: 'UDP' }), true],
  [
    'other addresses',
    ports({ hostPort: 80, hostIP: '127.0.0.1' }),
    ports({ hostPort: 80, hostIP: '10.0.0.1' }),
    true,
  ],
  [
    'the same address',
    ports({ hostPort: 80, hostIP: '127.0.0.1' }),
    ports({ hostPort: 80, hostIP: '127.0.0.1' }),
    false,
  ],
  ['every address', ports({ hostPort: 80 }), ports({ hostPort: 80, hostIP: '10.0.0.1' }), false],
  ['ports of Pods', ports({ containerPort: 80 }), ports({ containerPort: 80 }), true],
  [
    'the network of the node',
    { hostNetwork: true, ...ports({ containerPort: 80 }) },
    ports({ hostPort: 80 }),
    false,
  ],
])('host ports: %s', (_, spec, other, fits) => {
  const pod = rawPod(9, { spec: { nodeName: 'a', ...other } })
  expect(onNode(spec, worker('a'), pod)).toBe(fits ? 'a' : PORT_TAKEN)
  const gone = { ...pod, status: { phase: 'Succeeded' } }
  expect(onNode(spec, worker('a'), gone)).toBe('a')
})

const AB = [
  worker('a', { labels: { [ZONE]: 'z1' } }),
  worker('b', { labels: { [ZONE]: 'z1' } }),
  worker('c', { labels: { [ZONE]: 'z2' } }),
]
const running = (serial: number, nodeName: string, labels: JsonObject, parts: JsonObject = {}) =>
  rawPod(serial, { metadata: { labels, ...parts }, spec: { nodeName } })
const podTerm = (topologyKey: string, app: string, more: JsonObject = {}) => ({
  topologyKey,
  labelSelector: { matchLabels: { app } },
  ...more,
})
const near = (...terms: readonly JsonObject[]) => ({
  affinity: { podAffinity: { [REQUIRED]: [...terms] } },
})
const far = (...terms: readonly JsonObject[]) => ({
  affinity: { podAntiAffinity: { [REQUIRED]: [...terms] } },
})
const inOther = rawPod(9, {
  metadata: { labels: { app: 'db' }, namespace: 'other' },
  spec: { nodeName: 'b' },
})
const NAMESPACE: Stored = ['namespaces', { metadata: { name: 'other', labels: { team: 'x' } } }]

/** The nodes that a Pod may be bound to. */
function fitting(spec: JsonObject, pods: readonly JsonObject[]): string {
  const found = AB.filter((node) => {
    const name = nameOf(node)
    const pinned = { ...spec, nodeSelector: { [HOST]: name } }
    const objects = [...all('nodes', AB), ...all('pods', pods), NAMESPACE]
    return chosen(waitingPod(1, { spec: pinned }), ...objects) === name
  })
  return found.map(nameOf).join('')
}

test.each<[string, JsonObject, JsonObject[], string]>([
  ['the same node', near(podTerm(HOST, 'db')), [running(9, 'b', { app: 'db' })], 'b'],
  ['the same zone', near(podTerm(ZONE, 'db')), [running(9, 'b', { app: 'db' })], 'ab'],
  ['no such Pod', near(podTerm(ZONE, 'db')), [], ''],
  ['the first of its kind', near(podTerm(ZONE, 'web')), [], 'abc'],
  ['the first of its kind, but no such place', near(podTerm('rack', 'web')), [], ''],
  ['the second of its kind', near(podTerm(ZONE, 'web')), [running(9, 'c', { app: 'web' })], 'c'],
  [
    'a Pod that has ended',
    near(podTerm(ZONE, 'db')),
    [{ ...running(9, 'b', { app: 'db' }), status: { phase: 'Failed' } }],
    '',
  ],
  [
    'one Pod that matches both terms',
    near(podTerm(ZONE, 'db'), { topologyKey: HOST, labelSelector: { matchLabels: { tier: 'x' } } }),
    [running(8, 'a', { app: 'db' }), running(9, 'b', { app: 'db', tier: 'x' })],
    'b',
  ],
  [
    'two Pods that match one each',
    near(podTerm(ZONE, 'db'), { topologyKey: HOST, labelSelector: { matchLabels: { tier: 'x' } } }),
    [running(8, 'a', { app: 'db' }), running(9, 'b', { tier: 'x' })],
    '',
  ],
  ['another namespace', near(podTerm(HOST, 'db')), [inOther], ''],
  ['a namespace by name', near(podTerm(HOST, 'db', { namespaces: ['other'] })), [inOther], 'b'],
  [
    'a namespace by label',
    near(podTerm(HOST, 'db', { namespaceSelector: { matchLabels: { team: 'x' } } })),
    [inOther],
    'b',
  ],
  [
    'another label',
    near(podTerm(HOST, 'db', { namespaceSelector: { matchLabels: { team: 'y' } } })),
    [inOther],
    '',
  ],
  ['every namespace', near(podTerm(HOST, 'db', { namespaceSelector: {} })), [inOther], 'b'],
  ['no selector', near({ topologyKey: HOST }), [running(9, 'b', { app: 'db' })], ''],
  [
    'an empty selector',
    near({ topologyKey: HOST, labelSelector: {} }),
    [running(9, 'b', { app: 'db' })],
    'b',
  ],
  ['away from a node', far(podTerm(HOST, 'db')), [running(9, 'b', { app: 'db' })], 'ac'],
  ['away from a zone', far(podTerm(ZONE, 'db')), [running(9, 'b', { app: 'db' })], 'c'],
  [
    'away from each',
    far(podTerm(HOST, 'db'), podTerm(ZONE, 'x')),
    [running(8, 'a', { app: 'db' }), running(9, 'c', { app: 'x' })],
    'b',
  ],
  ['away from itself alone', far(podTerm(HOST, 'web')), [], 'abc'],
])('Pod affinity: %s', (_, spec, pods, expected) => {
  expect(fitting(spec, pods)).toBe(expected)
})

test.each<[string, JsonObject, string]>([
  ['a node', far(podTerm(HOST, 'web')), 'ac'],
  ['a zone', far(podTerm(ZONE, 'web')), 'c'],
  ['others', far(podTerm(ZONE, 'db')), 'abc'],
  ['another namespace', far(podTerm(ZONE, 'web', { namespaces: ['other'] })), 'abc'],
])('a Pod that runs keeps others from %s', (_, spec, expected) => {
  const pod = rawPod(9, { metadata: { labels: {} }, spec: { nodeName: 'b', ...spec } })
  expect(fitting({}, [pod])).toBe(expected)
  expect(fitting({}, [{ ...pod, status: { phase: 'Succeeded' } }])).toBe('abc')
})

test('the reasons of the affinity of Pods', () => {
  const node = worker('a')
  const db = running(9, 'a', { app: 'db' })
  expect(onNode(near(podTerm(HOST, 'x')), node)).toBe(
    without("1 node(s) didn't match pod affinity rules"),
  )
  expect(onNode(far(podTerm(HOST, 'db')), node, db)).toBe(
    without("1 node(s) didn't match pod anti-affinity rules"),
  )
  const repelling = rawPod(9, { spec: { nodeName: 'a', ...far(podTerm(HOST, 'web')) } })
  expect(onNode({}, node, repelling)).toBe(
    without("1 node(s) didn't satisfy existing pods anti-affinity rules"),
  )
})

const spread = (topologyKey: string, more: JsonObject = {}) => ({
  topologySpreadConstraints: [
    {
      topologyKey,
      maxSkew: 1,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'web' } },
      ...more,
    },
  ],
})
const web = (serial: number, node: string, parts: JsonObject = {}) =>
  running(serial, node, { app: 'web' }, parts)

test.each<[string, JsonObject, JsonObject[], string]>([
  ['over nodes', spread(HOST), [web(8, 'a'), web(9, 'b')], 'c'],
  ['over zones', spread(ZONE), [web(8, 'a')], 'c'],
  ['over zones, even', spread(ZONE), [web(8, 'a'), web(9, 'c')], 'abc'],
  ['a greater skew', spread(ZONE, { maxSkew: 2 }), [web(8, 'a')], 'abc'],
  ['other Pods', spread(ZONE), [running(9, 'a', { app: 'db' })], 'abc'],
  [
    'Pods that end',
    spread(ZONE),
    [web(8, 'a', { deletionTimestamp: '2030-01-01T00:00:00Z' })],
    'abc',
  ],
  ['Pods of another namespace', spread(ZONE), [web(8, 'a', { namespace: 'other' })], 'abc'],
  ['no such place', spread('rack'), [], ''],
  [
    'a Pod that does not count itself',
    spread(ZONE, { labelSelector: { matchLabels: { app: 'db' } } }),
    [running(8, 'a', { app: 'db' })],
    'abc',
  ],
  [
    'only a preference',
    spread(ZONE, { whenUnsatisfiable: 'ScheduleAnyway' }),
    [web(8, 'a')],
    'abc',
  ],
  ['too few places', spread(ZONE, { minDomains: 3 }), [web(8, 'a'), web(9, 'c')], ''],
  ['enough places', spread(ZONE, { minDomains: 2 }), [web(8, 'a'), web(9, 'c')], 'abc'],
  ['of the same version', spread(ZONE, { matchLabelKeys: ['app', 'version'] }), [web(8, 'a')], 'c'],
])('spread: %s', (_, spec, pods, expected) => {
  expect(fittingAnywhere(spec, pods)).toBe(expected)
})

/** As `fitting`, but the other nodes count as places: a nodeSelector would exclude them. */
function fittingAnywhere(spec: JsonObject, pods: readonly JsonObject[]): string {
  const policy = { nodeAffinityPolicy: 'Ignore' }
  const list = spec['topologySpreadConstraints'] as JsonObject[]
  return fitting({ topologySpreadConstraints: list.map((one) => ({ ...policy, ...one })) }, pods)
}

test('only nodes count that the Pod selects, by default', () => {
  expect(fitting(spread(ZONE), [web(8, 'a')])).toBe('abc')
})

test('nodes with taints count as places, unless the constraint honours the taints', () => {
  const closed = worker('c', { labels: { [ZONE]: 'z2' }, spec: { taints: [taint('k')] } })
  const nodes = all('nodes', [AB[0]!, AB[1]!, closed])
  const pod = (more: JsonObject) => waitingPod(1, { spec: spread(ZONE, more) })
  const found = (more: JsonObject) => chosen(pod(more), ...nodes, ['pods', web(8, 'a')])
  expect(found({})).toBe(
    "0/3 nodes are available: 1 node(s) had untolerated taint {k: }, 2 node(s) didn't match pod topology spread constraints.",
  )
  expect(found({ nodeTaintsPolicy: 'Honor' })).toBe('b')
})

test('with matchLabelKeys only Pods with the same value count', () => {
  const pod = (matchLabelKeys: string[]) =>
    waitingPod(1, {
      metadata: { labels: { app: 'web', version: '2' } },
      spec: spread(ZONE, { matchLabelKeys }),
    })
  const old = all('pods', [web(7, 'a', { labels: { app: 'web', version: '1' } }), web(8, 'b')])
  const objects = [
    ...all('nodes', AB.slice(0, 2)),
    ['nodes', worker('c', { labels: { [ZONE]: 'z2' }, cpu: '1m' })] as const,
    ...old,
  ]
  const spec = requesting({ cpu: '1' })
  const needing = (keys: string[]) => {
    const one = pod(keys)
    return { ...one, spec: { ...(one['spec'] as JsonObject), ...spec } }
  }
  expect(chosen(needing([]), ...objects)).toContain('topology spread constraints')
  expect(chosen(needing(['version']), ...objects)).toMatch(/^[ab]$/)
})

test('a place that no node has is a reason of its own', () => {
  expect(onNode(spread('rack'), worker('a'))).toBe(
    without("1 node(s) didn't match pod topology spread constraints (missing required label)"),
  )
})

test('the message counts the reasons, in the order of Kubernetes', () => {
  const nodes = [
    worker('a', { cpu: '1' }),
    worker('b', { cpu: '1' }),
    worker('c', { spec: { taints: [taint('k', 'NoSchedule', 'v')] } }),
  ]
  const pod = waitingPod(1, { spec: requesting({ cpu: '2' }) })
  expect(chosen(pod, ...all('nodes', nodes))).toBe(
    '0/3 nodes are available: 1 node(s) had untolerated taint {k: v}, 2 Insufficient cpu.',
  )
  expect(chosen(pod)).toBe('no nodes available to schedule pods')
})

const owner = { kind: 'ReplicaSet', name: 'web', uid: 'rs', controller: true }
const owned = (serial: number, nodeName: string) =>
  rawPod(serial, { metadata: { ownerReferences: [owner] }, spec: { nodeName } })
const nodeTerm = (weight: number, disk: string) => ({
  weight,
  preference: term('disk', 'In', disk),
})
const podWeight = (weight: number, app: string) => ({ weight, podAffinityTerm: podTerm(HOST, app) })

test.each<[string, JsonObject, JsonObject[], JsonObject[], string]>([
  ['more free', {}, [worker('a', { cpu: '1' }), worker('b', { cpu: '8' })], [], 'b'],
  [
    'less taken',
    {},
    [worker('a'), worker('b')],
    [rawPod(9, { metadata: { labels: {} }, spec: { nodeName: 'a' } })],
    'b',
  ],
  [
    'no taint',
    {},
    [worker('a', { spec: { taints: [taint('k', 'PreferNoSchedule')] }, cpu: '64' }), worker('b')],
    [],
    'b',
  ],
  [
    'a tolerated taint',
    { tolerations: [{ operator: 'Exists' }] },
    [worker('a', { spec: { taints: [taint('k', 'PreferNoSchedule')] }, cpu: '64' }), worker('b')],
    [],
    'a',
  ],
  [
    'a preferred node',
    { affinity: { nodeAffinity: { [PREFERRED]: [nodeTerm(1, 'fast'), nodeTerm(9, 'slow')] } } },
    [worker('a', { labels: { disk: 'fast' } }), worker('b', { labels: { disk: 'slow' } })],
    [],
    'b',
  ],
  [
    'near preferred Pods',
    { affinity: { podAffinity: { [PREFERRED]: [podWeight(5, 'db')] } } },
    [worker('a'), worker('b')],
    [running(9, 'a', { app: 'db' })],
    'a',
  ],
  [
    'far from others',
    { affinity: { podAntiAffinity: { [PREFERRED]: [podWeight(5, 'db')] } } },
    [worker('a', { cpu: '64' }), worker('b')],
    [running(9, 'a', { app: 'db' })],
    'b',
  ],
  [
    'a spread that is preferred',
    spread(HOST, { whenUnsatisfiable: 'ScheduleAnyway' }),
    [worker('a', { cpu: '64' }), worker('b')],
    [web(9, 'a')],
    'b',
  ],
])('prefers %s', (_, spec, nodes, pods, expected) => {
  const objects = [...all('nodes', nodes), ...all('pods', pods)]
  expect(chosen(waitingPod(1, { spec }), ...objects)).toBe(expected)
})

test('Pods of an owner are spread over nodes and zones, and those of a Service without one', () => {
  const nodes = all('nodes', [
    worker('a', { labels: { [ZONE]: 'z1' } }),
    worker('b', { labels: { [ZONE]: 'z1' }, cpu: '64' }),
    worker('c', { labels: { [ZONE]: 'z2' } }),
  ])
  const mine = waitingPod(1, { metadata: { ownerReferences: [owner] } })
  expect(chosen(mine, ...nodes, ['pods', owned(8, 'a')])).toBe('c')
  expect(chosen(mine, ...nodes, ...all('pods', [owned(8, 'a'), owned(9, 'c')]))).toBe('b')
  expect(chosen(waitingPod(1), ...nodes, ['pods', web(8, 'a')])).toBe('b')
  expect(chosen(waitingPod(1), ...nodes, ['pods', web(8, 'a')], ['services', rawService()])).toBe(
    'c',
  )
})

test('of equal nodes a hash of the Pod decides, whatever the order of the nodes', () => {
  const names = ['a', 'b', 'c', 'd']
  const nodes = names.map((name) => worker(name))
  const counts = new Map<string, number>()
  for (let serial = 0; serial < 400; serial++) {
    const pod = waitingPod(1, { metadata: { uid: `uid-${serial}`, labels: {} } })
    const node = chosen(pod, ...all('nodes', nodes))
    expect(chosen(pod, ...all('nodes', nodes.toReversed()))).toBe(node)
    counts.set(node, (counts.get(node) ?? 0) + 1)
  }
  expect([...counts.keys()].toSorted()).toEqual(names)
  for (const count of counts.values()) expect(count).toBeGreaterThan(60)
})
