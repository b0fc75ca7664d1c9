import { expect, test } from 'vitest'
import type { Raw } from '../../resources/reader.ts'
import { validateObject, validateUpdate } from '../kinds/testing/rules-by-kind.ts'
import { causeOf } from './status.ts'

const metadata = { name: 'a', namespace: 'shop' }
const SLICE = { metadata, addressType: 'IPv4', endpoints: [] }

test.each<[string, Raw, string, string, string]>([
  [
    'Service',
    { metadata, spec: { ports: [{ port: 80, protocol: 'x' }] } },
    'FieldValueNotSupported',
    'spec.ports[0].protocol',
    'Unsupported value: "x": supported values: "SCTP", "TCP", "UDP"',
  ],
  [
    'EndpointSlice',
    { ...SLICE, addressType: 'x' },
    'FieldValueNotSupported',
    'addressType',
    'Unsupported value: "x": supported values: "FQDN", "IPv4", "IPv6"',
  ],
  [
    'EndpointSlice',
    { ...SLICE, addressType: undefined },
    'FieldValueRequired',
    'addressType',
    'Required value: must be one of FQDN, IPv4, IPv6',
  ],
])('a %s that is %j: %s', (kind, object, reason, field, message) => {
  expect(validateObject(kind, object).map(causeOf)).toEqual([{ reason, field, message }])
})

const FROZEN = { immutable: true, data: { a: 'x' } }
const POD_FIXED =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)'

test.each<[string, Raw, Raw, string, string]>([
  ['Pod', { spec: {} }, { spec: { hostname: 'a' } }, 'spec', POD_FIXED],
  ...['ConfigMap', 'Secret'].flatMap((kind): [string, Raw, Raw, string, string][] => [
    [kind, FROZEN, { data: { a: 'x' } }, 'immutable', 'field is immutable when `immutable` is set'],
    [kind, FROZEN, { immutable: true }, 'data', 'field is immutable when `immutable` is set'],
  ]),
])('a %s of %j may not become %j', (kind, old, next, field, why) => {
  expect(validateUpdate(kind, next, old).map(causeOf)).toEqual([
    { reason: 'FieldValueForbidden', field, message: `Forbidden: ${why}` },
  ])
})
