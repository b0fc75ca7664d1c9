import { expect, test } from 'vitest'
import type { Raw } from '../../resources/reader.ts'
import { placesOf } from '../../resources/testing/raw-objects.ts'
import { applyDefaults, validateObject } from './testing/rules-by-kind.ts'

/** Path and value of each field that validation refuses. */
function refusedFields(parts: Raw): readonly string[] {
  const object = { metadata: { name: 'x', namespace: 'shop' }, ...parts }
  return placesOf(validateObject('NetworkPolicy', applyDefaults('NetworkPolicy', object)))
}

function refusedFieldsOfEgress(rule: Raw): readonly string[] {
  return refusedFields({ spec: { egress: [rule] } })
}

test.each<[Raw, readonly string[]]>([
  [{}, []],
  [{ podSelector: { matchLabels: { app: 'web' } }, egress: [], policyTypes: ['Egress'] }, []],
  [{ podSelector: { matchLabels: { app: 7 } } }, ['spec.podSelector.matchLabels {"app":7}']],
  [{ policyTypes: ['Sideways'] }, ['spec.policyTypes[0] "Sideways"']],
  [{ policyTypes: ['Egress', 'Egress'] }, ['spec.policyTypes[1] "Egress"']],
  [{ ingress: [{ from: [{}] }] }, ['spec.ingress[0].from[0] {}']],
])('of a policy with %j these fields are refused: %j', (spec, expected) => {
  expect(refusedFields({ spec })).toEqual(expected)
})

test.each<[Raw, readonly string[]]>([
  [{ podSelector: {}, namespaceSelector: {} }, []],
  [{ ipBlock: { cidr: '10.0.0.1/8', except: ['10.1.0.0/16'] } }, []],
  [{ ipBlock: { cidr: 'fd00::/8', except: ['fd01::/16'] } }, []],
  [{}, [' {}']],
  [{ podSelector: {}, ipBlock: { cidr: '::/0' } }, ['.ipBlock {"cidr":"::/0"}']],
  [{ ipBlock: {} }, ['.ipBlock.cidr (absent)']],
  [{ ipBlock: { cidr: '10.0.0.1' } }, ['.ipBlock.cidr "10.0.0.1"']],
  [
    { ipBlock: { cidr: '10.0.0.0/8', except: ['10.0.0.0/8', '11.0.0.0/16', 'x'] } },
    [
      '.ipBlock.except[0] "10.0.0.0/8"',
      '.ipBlock.except[1] "11.0.0.0/16"',
      '.ipBlock.except[2] "x"',
    ],
  ],
])('of a peer %j these fields are refused: %j', (peer, expected) => {
  const paths = expected.map((path) => `spec.egress[0].to[0]${path}`)
  expect(refusedFieldsOfEgress({ to: [peer] })).toEqual(paths)
})

test.each<[Raw, readonly string[]]>([
  [{}, []],
  [{ protocol: 'UDP', port: 'dns' }, []],
  [{ port: 1, endPort: 65_535 }, []],
  [{ protocol: 'ICMP' }, ['protocol "ICMP"']],
  [{ port: 0 }, ['port 0']],
  [{ port: 'no port' }, ['port "no port"']],
  [{ port: 80, endPort: 79 }, ['endPort 79']],
  [{ port: 'dns', endPort: 80 }, ['endPort 80']],
])('of a port %j these fields are refused: %j', (port, expected) => {
  const paths = expected.map((path) => `spec.egress[0].ports[0].${path}`)
  expect(refusedFieldsOfEgress({ ports: [port] })).toEqual(paths)
})
