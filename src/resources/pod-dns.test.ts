import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../lib/json.ts'
import {
  formatResolvConf,
  hasOwnResolver,
  parseResolvConf,
  podResolvConf,
  readPodDns,
} from './pod-dns.ts'

const CLUSTER = { nameservers: ['10.96.0.53'], domain: 'cluster.local', hostFile: '/x' }
const HOST = parseResolvConf(`# the node
nameserver 192.0.2.1
nameserver 192.0.2.2
search example.com corp.example.com
options ndots:1 rotate
`)

function dnsOf(spec: JsonObject) {
  return readPodDns({ metadata: { namespace: 'shop' }, spec })
}

function fileOf(spec: JsonObject, cluster = CLUSTER): string {
  return formatResolvConf(podResolvConf(dnsOf(spec), cluster, HOST))
}

const OF_CLUSTER = `nameserver 10.96.0.53
search shop.svc.cluster.local svc.cluster.local cluster.local example.com corp.example.com
options ndots:5
`
const OF_NODE = `nameserver 192.0.2.1
nameserver 192.0.2.2
search example.com corp.example.com
options ndots:1 rotate
`

describe('dnsPolicy', () => {
  test.each<[JsonObject, string]>([
    [{}, OF_CLUSTER],
    [{ dnsPolicy: 'ClusterFirst' }, OF_CLUSTER],
    [{ dnsPolicy: 'ClusterFirst', hostNetwork: true }, OF_NODE],
    [{ dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true }, OF_CLUSTER],
    [{ dnsPolicy: 'ClusterFirstWithHostNet' }, OF_CLUSTER],
    [{ dnsPolicy: 'Default' }, OF_NODE],
    [{ dnsPolicy: 'None', dnsConfig: { nameservers: ['1.1.1.1'] } }, 'nameserver 1.1.1.1\n'],
  ])('%j', (spec, text) => {
    expect(fileOf(spec)).toBe(text)
  })

  test('without a server of the cluster a Pod resolves as its node', () => {
    expect(fileOf({}, { ...CLUSTER, nameservers: [] })).toBe(OF_NODE)
  })
})

describe('dnsConfig', () => {
  test('adds to the policy: its options win, and what is there twice counts once', () => {
    const dnsConfig = {
      nameservers: ['192.0.2.9', '10.96.0.53'],
      searches: ['my.example', 'cluster.local'],
      options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }],
    }
    expect(fileOf({ dnsConfig })).toBe(`nameserver 10.96.0.53
nameserver 192.0.2.9
search shop.svc.cluster.local svc.cluster.local cluster.local example.com corp.example.com my.example
options ndots:2 edns0
`)
  })

  test('cannot write lines of its own, nor what no resolver reads', () => {
    const dnsConfig = {
      nameservers: ['1.1.1.1\nnameserver 6.6.6.6', 'dns.example', 7, 'fe80::1%eth0'],
      searches: ['a b', 'x\ny', '.', 'fine.example'],
      options: [{ name: 'a b' }, { name: 'x', value: '1\n2' }, { name: 'timeout', value: '3' }],
    } as unknown as JsonObject
    expect(fileOf({ dnsPolicy: 'None', dnsConfig })).toBe(
      'nameserver fe80::1%eth0\nsearch . fine.example\noptions timeout:3\n',
    )
  })

  test('is cut at three servers, 32 domains and 2,048 characters', () => {
    const nameservers = [1, 2, 3, 4].map((n) => `192.0.2.${n}`)
    const searches = Array.from({ length: 40 }, (_, n) => `${'a'.repeat(60)}.d${n}.example`)
    const text = fileOf({ dnsPolicy: 'None', dnsConfig: { nameservers, searches } })
    const [search = ''] = text.split('\n').filter((line) => line.startsWith('search '))
    expect(text.match(/^nameserver /gm)).toHaveLength(3)
    expect(search.split(' ').length - 1).toBe(Math.floor(2_048 / 73))
    const short = fileOf({
      dnsPolicy: 'None',
      dnsConfig: { searches: Array.from({ length: 40 }, (_, n) => `d${n}.example`) },
    })
    expect(short.trim().split(' ').length - 1).toBe(32)
  })
})

test.each<[JsonObject, boolean]>([
  [{}, true],
  [{ dnsPolicy: 'Default' }, false],
  [{ hostNetwork: true }, false],
  [{ dnsPolicy: 'None' }, true],
  [{ dnsPolicy: 'Default', dnsConfig: { searches: ['a.example'] } }, true],
])('whether a Pod needs a file of its own: %j', (spec, expected) => {
  expect(hasOwnResolver(dnsOf(spec), CLUSTER)).toBe(expected)
})

test('a file is read as libc reads it', () => {
  const { nameservers, searches, options } = parseResolvConf(
    'nameserver  192.0.2.1 # x\n;search no\ndomain one.example\nsearch two.example\toptions\noptions a:1 b\noptions a:2\n',
  )
  expect(nameservers).toEqual(['192.0.2.1'])
  expect(searches).toEqual(['two.example', 'options'])
  expect([...options]).toEqual([
    ['a', '2'],
    ['b', ''],
  ])
})
