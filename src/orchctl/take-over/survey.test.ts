import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import { type Surveyed, survey } from './survey.ts'

const daemonSet = (name: string, container: JsonObject = {}, namespace = 'kube-system') => ({
  metadata: { name, namespace },
  spec: { template: { spec: { containers: [{ name, ...container }] } } },
})

const configMap = (name: string, data: JsonObject) => ({
  metadata: { name, namespace: 'kube-system' },
  data,
})

const KUBE_PROXY = daemonSet('kube-proxy')
const CONFIG = configMap('kube-proxy', { 'config.conf': 'mode: ""\nclusterCIDR: 10.0.0.0/8\n' })

const CLUSTER: Surveyed = {
  version: 'v1.31.4+k3s1',
  daemonSets: [KUBE_PROXY],
  configMaps: [CONFIG],
  felix: undefined,
  nodes: [],
  names: undefined,
  absent: [],
  unknownNodes: [],
  nodeProxyConfig: 'mode: iptables\nclusterCIDR: 10.0.0.0/8\n',
  isBack: false,
}

const findingsOf = (changes: Partial<Surveyed>): readonly string[] =>
  survey({ ...CLUSTER, ...changes }).map(
    ({ isRefusal, object, found }) => `${isRefusal ? 'refused' : 'note'}: ${object}: ${found}`,
  )

const withPlugin = (plugin: JsonObject, more: Partial<Surveyed> = {}): Partial<Surveyed> => ({
  daemonSets: [KUBE_PROXY, plugin],
  ...more,
})

const withMode = (mode: string, own = 'iptables'): Partial<Surveyed> => ({
  configMaps: [
    configMap('kube-proxy', { 'config.conf': `mode: ${mode}\nclusterCIDR: 10.0.0.0/8` }),
  ],
  nodeProxyConfig: `mode: ${own}\nclusterCIDR: 10.0.0.0/8`,
})

test('a cluster of kubeadm can move', () => {
  expect(findingsOf({})).toEqual([])
})

describe('network plugins that serve Services', () => {
  const cilium = (value: string): Partial<Surveyed> =>
    withPlugin(daemonSet('cilium'), {
      configMaps: [CONFIG, configMap('cilium-config', { 'kube-proxy-replacement': value })],
    })
  const antrea = (isAll: boolean): Partial<Surveyed> => {
    const text = `antreaProxy:\n  enable: true\n  proxyAll: ${isAll}\n`
    return withPlugin(daemonSet('antrea-agent'), {
      configMaps: [CONFIG, configMap('antrea-config', { 'antrea-agent.conf': text })],
    })
  }
  const calico = (value: string): JsonObject =>
    daemonSet('calico-node', { env: [{ name: 'FELIX_BPFENABLED', value }] })
  const router = (...args: string[]): JsonObject => daemonSet('kube-router', { args })

  test.each<[string, Partial<Surveyed>, string]>([
    ['Cilium', cilium('true'), 'kube-proxy-replacement: "true"'],
    ['Antrea', antrea(true), 'antreaProxy.proxyAll: true'],
    ['Calico', withPlugin(calico('true')), 'FELIX_BPFENABLED'],
    [
      'Calico by its resource',
      withPlugin(calico('false'), { felix: { spec: { bpfEnabled: true } } }),
      'spec.bpfEnabled: true',
    ],
    ['kube-router by default', withPlugin(router()), '--run-service-proxy=true'],
    ['OVN-Kubernetes', withPlugin(daemonSet('ovnkube-node', {}, 'ovn')), 'load balancers'],
    ['OpenShift SDN', withPlugin(daemonSet('sdn', {}, 'openshift-sdn')), 'contains kube-proxy'],
  ])('%s is refused', (_name, changes, found) => {
    expect(findingsOf(changes)).toEqual([expect.stringContaining(found)])
    expect(findingsOf(changes)[0]).toMatch(/^refused: DaemonSet \S+: serves Services itself: /)
    expect(findingsOf({ ...changes, isBack: true })).toEqual([])
  })

  test.each<[string, Partial<Surveyed>]>([
    ['Cilium', cilium('false')],
    ['Antrea', antrea(false)],
    ['Calico', withPlugin(calico('false'))],
    ['kube-router', withPlugin(router('--run-service-proxy=false'))],
    ['kube-router, in two words', withPlugin(router('--run-service-proxy', 'false'))],
    ['another sdn', withPlugin(daemonSet('sdn'))],
  ])('%s without that is none', (_name, changes) => {
    expect(findingsOf(changes)).toEqual([])
  })
})

test.each<[string, Partial<Surveyed>, readonly string[]]>([
  ['ipvs', withMode('ipvs'), [expect.stringContaining('mode: "ipvs", and node-proxy is to run')]],
  ['ipvs to nftables', withMode('ipvs', 'nftables'), []],
  ['nftables', withMode('nftables'), []],
  ['userspace', withMode('userspace'), [expect.stringContaining('pass through kube-proxy itself')]],
  [
    'a flag wins over the ConfigMap',
    { daemonSets: [daemonSet('kube-proxy', { command: ['kube-proxy', '--proxy-mode=ipvs'] })] },
    [expect.stringContaining('mode: "ipvs"')],
  ],
  [
    'to userspace',
    withMode('iptables', 'userspace'),
    [expect.stringMatching(/^refused: ConfigMap/)],
  ],
  [
    'from userspace',
    { ...withMode('iptables', 'userspace'), isBack: true },
    [expect.stringMatching(/^refused: ConfigMap/)],
  ],
  ['aliases that cannot be read', { nodeProxyConfig: 'a: *b' }, [expect.stringContaining('CIDR')]],
])('modes: %s', (_name, changes, expected) => {
  expect(findingsOf(changes)).toEqual(expected)
})

test('what else is refused', () => {
  expect(findingsOf({ nodeProxyConfig: 'clusterCIDR: 10.244.0.0/16' })).toEqual([
    'refused: ConfigMap kube-system/node-proxy: clusterCIDR: "10.244.0.0/16", but that of kube-proxy is "10.0.0.0/8"',
  ])
  expect(findingsOf({ version: 'v1.19.16' })).toEqual([
    'refused: the API server: has the version "v1.19.16"',
  ])
  expect(findingsOf({ version: 'v1.20.0' })).toEqual([])
  expect(findingsOf({ unknownNodes: ['n9'] })).toEqual([
    'refused: Node n9: does not exist, or is not of Linux',
  ])
  expect(findingsOf({ daemonSets: [] })).toEqual([
    expect.stringMatching(/^refused: DaemonSet kube-system\/kube-proxy: does not exist/),
  ])
  const node = {
    name: 'n1',
    label: 'cilium',
    served: undefined,
    pending: '',
    isReady: true,
    kubeProxy: [],
    nodeProxy: [],
    cleanUps: [],
  }
  expect(findingsOf({ nodes: [node] })).toEqual([
    'refused: Node n1: has the label orch.io/service-proxy="cilium"',
  ])
})

test('a node that is not Ready is skipped, and refused where it is named', () => {
  expect(findingsOf({ absent: ['n1'] })).toEqual(['note: Node n1: is not Ready, and is skipped'])
  expect(findingsOf({ absent: ['n1'], names: new Set(['n1']) })).toEqual([
    'refused: Node n1: is not Ready',
  ])
})

test('a build without a release is said, and moves', () => {
  expect(findingsOf({ version: 'v0.0.0-master+faecb196815e2' })).toEqual([
    'note: the API server: has the version "v0.0.0-master+faecb196815e2", which is no release',
  ])
})
