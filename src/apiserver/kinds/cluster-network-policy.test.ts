import { expect, test } from 'vitest'
import { readClusterPolicy } from '../../networkpolicy/read-cluster-policy.ts'
import type { Raw } from '../../resources/reader.ts'
import { placesOf } from '../../resources/testing/raw-objects.ts'
import { applyDefaults, validateObject } from './testing/rules-by-kind.ts'

const SPEC = { tier: 'Admin', priority: 0, subject: { namespaces: {} } }
const POD = { namespaceSelector: {}, podSelector: {} }
const PEER = { pods: POD }

/** Path and value of each field that validation refuses. */
function refusedFields(spec: Raw): readonly string[] {
  const object = { metadata: { name: 'x' }, spec: { ...SPEC, ...spec } }
  const kind = 'ClusterNetworkPolicy'
  return placesOf(validateObject(kind, applyDefaults(kind, object)))
}

test.each<[Raw, readonly string[]]>([
  [{}, []],
  [{ priority: 1000, tier: 'Baseline', subject: { pods: POD } }, []],
  [{ tier: 'Platform' }, ['spec.tier "Platform"']],
  [{ tier: undefined }, ['spec.tier (absent)']],
  [{ priority: 1001 }, ['spec.priority 1001']],
  [{ priority: undefined }, ['spec.priority (absent)']],
  [{ subject: {} }, ['spec.subject {}']],
  [{ subject: { namespaces: {}, pods: POD } }, [expect.stringMatching(/^spec.subject /)]],
  [{ subject: { pods: {} } }, ['spec.subject.pods.podSelector (absent)']],
  [
    { subject: { namespaces: { matchExpressions: [{ key: 'a', operator: 'Gt' }] } } },
    ['spec.subject.namespaces.matchExpressions[0].operator "Gt"'],
  ],
  [{ ingress: [{}] }, ['spec.ingress[0].action (absent)', 'spec.ingress[0].from (absent)']],
  [
    { egress: Array.from({ length: 26 }, () => ({ action: 'Deny', to: [PEER] })) },
    [expect.stringMatching(/^spec.egress /)],
  ],
])('of a policy with %j these fields are refused: %j', (spec, expected) => {
  expect(refusedFields(spec)).toEqual(expected)
})

test.each<[Raw, readonly string[]]>([
  [PEER, []],
  [{ namespaces: { matchLabels: { a: 'b' } } }, []],
  [{ networks: ['10.0.0.0/8', 'fd00::/8'] }, []],
  [{ nodes: {} }, []],
  [{ domainNames: ['example.com', '*.example.com'] }, []],
  [{}, [' {}']],
  [{ namespaces: {}, pods: POD }, [expect.stringMatching(/^ /)]],
  [{ networks: [] }, ['.networks []']],
  [{ networks: ['10.0.0.1', 'x/8'] }, ['.networks[0] "10.0.0.1"', '.networks[1] "x/8"']],
  [{ domainNames: ['a..b'] }, ['.domainNames[0] "a..b"']],
])('of the peer %j of egress these fields are refused: %j', (peer, expected) => {
  const found = refusedFields({ egress: [{ action: 'Accept', to: [peer] }] })
  expect(found.map((one) => one.replace('spec.egress[0].to[0]', ''))).toEqual(expected)
})

test.each<[Raw, readonly string[]]>([
  [{ action: 'Log' }, ['.action "Log"']],
  [{ name: 'x'.repeat(101) }, [expect.stringMatching(/^.name /)]],
  [{ from: [] }, ['.from []']],
  [{ from: [{ networks: ['10.0.0.0/8'] }] }, [expect.stringMatching(/^.from\[0\] /)]],
  [{ protocols: [{ tcp: { destinationPort: { number: 80 } } }] }, []],
  [{ protocols: [{ sctp: { destinationPort: { range: { start: 1, end: 65535 } } } }] }, []],
  [{ protocols: [{ destinationNamedPort: 'http' }] }, []],
  [{ protocols: [{ destinationNamedPort: '-' }] }, ['.protocols[0].destinationNamedPort "-"']],
  [{ protocols: [{}] }, ['.protocols[0] {}']],
  [{ protocols: [{ tcp: {} }] }, ['.protocols[0].tcp.destinationPort (absent)']],
  [
    { protocols: [{ udp: { destinationPort: { number: 0 } } }] },
    ['.protocols[0].udp.destinationPort.number 0'],
  ],
  [
    { protocols: [{ udp: { destinationPort: { range: { start: 9, end: 9 } } } }] },
    ['.protocols[0].udp.destinationPort.range.end 9'],
  ],
])('of the ingress rule %j these fields are refused: %j', (more, expected) => {
  const found = refusedFields({ ingress: [{ action: 'Deny', from: [PEER], ...more }] })
  expect(found.map((one) => one.replace('spec.ingress[0]', ''))).toEqual(expected)
})

test('names of ports are refused for peers without names, and domain names except for Accept', () => {
  const protocols = [{ destinationNamedPort: 'http' }]
  const named = { action: 'Accept', to: [{ networks: ['10.0.0.0/8'] }], protocols }
  expect(refusedFields({ egress: [named] })).toEqual([
    expect.stringMatching(/^spec.egress\[0\].protocols /),
  ])
  const denied = { action: 'Deny', to: [{ domainNames: ['example.com'] }] }
  expect(refusedFields({ egress: [denied] })).toEqual([
    expect.stringMatching(/^spec.egress\[0\].to\[0\].domainNames /),
  ])
})

test('what is valid is read without a problem', () => {
  const protocols = [
    { tcp: { destinationPort: { number: 80 } } },
    { udp: { destinationPort: { range: { start: 1, end: 2 } } } },
    { destinationNamedPort: 'http' },
  ]
  const spec = {
    ...SPEC,
    ingress: [{ action: 'Pass', name: 'x', from: [PEER, { namespaces: {} }], protocols }],
    egress: [{ action: 'Deny', to: [{ networks: ['10.0.0.0/8'] }] }],
  }
  expect(refusedFields(spec)).toEqual([])
  expect(readClusterPolicy({ metadata: { name: 'x' }, spec }).problems).toEqual([])
})
