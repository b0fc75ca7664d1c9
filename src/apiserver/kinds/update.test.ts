import { expect, test } from 'vitest'
import type { Raw } from '../../resources/reader.ts'
import { placesOf } from '../../resources/testing/raw-objects.ts'
import { validateUpdate } from './testing/rules-by-kind.ts'

const FROZEN = { immutable: true, data: { a: 'x' } }
const POD = { containers: [{ name: 'a', image: 'x' }] }
const POD_FIXED = 'spec "(withheld)"'
const TOLERATION = { key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 1 }
const TOLERANT = { ...POD, tolerations: [TOLERATION] }
const GATED = { ...POD, schedulingGates: [{ name: 'x' }, { name: 'y' }] }
const SHORT = { ...POD, activeDeadlineSeconds: 9 }
const NEGATIVE = { ...POD, terminationGracePeriodSeconds: -1 }
const BALANCED = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 1 }

test.each<[string, Raw, Raw, readonly string[]]>([
  ['Node', { spec: 1 }, { spec: 2 }, []],
  ['Pod', { spec: POD }, { spec: { ...POD, tolerations: [{}], activeDeadlineSeconds: 1 } }, []],
  ['Pod', { spec: POD }, { spec: { ...POD, containers: [{ name: 'a', image: 'y' }] } }, []],
  ['Pod', { spec: POD }, { spec: { ...POD, nodeName: 'n' } }, []],
  ['Pod', { spec: { ...POD, nodeName: 'm' } }, { spec: { ...POD, nodeName: 'n' } }, [POD_FIXED]],
  ['Pod', { spec: POD }, { spec: { ...POD, containers: [{ name: 'b' }] } }, [POD_FIXED]],
  ['Pod', { spec: POD }, { spec: { ...POD, hostNetwork: true } }, [POD_FIXED]],
  ['Pod', { spec: POD }, { spec: { ...POD, dnsPolicy: 'ClusterFirst' } }, []],
  ['Pod', { spec: TOLERANT }, { spec: { ...POD, tolerations: [{}, TOLERATION] } }, []],
  [
    'Pod',
    { spec: TOLERANT },
    { spec: { ...POD, tolerations: [{ ...TOLERATION, tolerationSeconds: 2 }] } },
    [],
  ],
  ['Pod', { spec: TOLERANT }, { spec: POD }, ['spec.tolerations "(withheld)"']],
  [
    'Pod',
    { spec: TOLERANT },
    { spec: { ...POD, tolerations: [{ ...TOLERATION, key: 'b' }] } },
    ['spec.tolerations "(withheld)"'],
  ],
  ['Pod', { spec: GATED }, { spec: { ...POD, schedulingGates: [{ name: 'y' }] } }, []],
  ['Pod', { spec: GATED }, { spec: POD }, []],
  ['Pod', { spec: POD }, { spec: GATED }, ['spec.schedulingGates "(withheld)"']],
  [
    'Pod',
    { spec: GATED },
    { spec: { ...POD, schedulingGates: [{ name: 'z' }] } },
    ['spec.schedulingGates "(withheld)"'],
  ],
  ['Pod', { spec: SHORT }, { spec: { ...POD, activeDeadlineSeconds: 8 } }, []],
  ['Pod', { spec: SHORT }, { spec: POD }, ['spec.activeDeadlineSeconds (absent)']],
  [
    'Pod',
    { spec: SHORT },
    { spec: { ...POD, activeDeadlineSeconds: 10 } },
    ['spec.activeDeadlineSeconds 10'],
  ],
  ['Pod', { spec: NEGATIVE }, { spec: { ...POD, terminationGracePeriodSeconds: 1 } }, []],
  ['Pod', { spec: NEGATIVE }, { spec: { ...POD, terminationGracePeriodSeconds: 2 } }, [POD_FIXED]],
  ['RoleBinding', { roleRef: { name: 'a' } }, { roleRef: { name: 'a' }, subjects: [] }, []],
  ['RoleBinding', { roleRef: { name: 'a' } }, { roleRef: { name: 'b' } }, ['roleRef {"name":"b"}']],
  ['ClusterRoleBinding', { roleRef: {} }, {}, ['roleRef (absent)']],
  ['EndpointSlice', { addressType: 'IPv4' }, { addressType: 'IPv6' }, ['addressType "IPv6"']],
  [
    'Deployment',
    { spec: { selector: { matchLabels: { a: 'b' } } } },
    { spec: { selector: {} } },
    ['spec.selector {}'],
  ],
  [
    'DaemonSet',
    { spec: { selector: { matchLabels: { a: 'b' } } } },
    { spec: { selector: {} } },
    ['spec.selector {}'],
  ],
  ['DaemonSet', { spec: {} }, { spec: { updateStrategy: { type: 'OnDelete' } } }, []],
  [
    'ReplicaSet',
    { spec: { selector: { matchLabels: { a: 'b' } } } },
    { spec: { selector: {} } },
    ['spec.selector {}'],
  ],
  ['ReplicaSet', { spec: {} }, { spec: { replicas: 3, template: { metadata: {} } } }, []],
  [
    'StatefulSet',
    { spec: { serviceName: 'a', podManagementPolicy: 'Parallel' } },
    { spec: { serviceName: 'b', volumeClaimTemplates: [] } },
    ['spec.serviceName "b"', 'spec.podManagementPolicy (absent)', 'spec.volumeClaimTemplates []'],
  ],
  ['ControllerRevision', { data: { a: 1 } }, { data: { a: 2 } }, ['data {"a":2}']],
  ['ControllerRevision', { data: { a: 1 } }, { data: { a: 1 }, revision: 2 }, []],
  ['StatefulSet', { spec: {} }, { spec: { replicas: 3, minReadySeconds: 1 } }, []],
  ['Secret', { type: 'a' }, { type: 'b' }, ['type "b"']],
  ['Secret', { data: { a: 'x' } }, { data: { a: 'y' }, immutable: true }, []],
  ['Secret', FROZEN, { ...FROZEN, data: { a: 'y' } }, ['data "(withheld)"']],
  ['ConfigMap', FROZEN, { ...FROZEN, metadata: { labels: {} }, binaryData: {} }, []],
  ['ConfigMap', FROZEN, { data: { a: 'x' } }, ['immutable (absent)']],
  ['ConfigMap', FROZEN, { ...FROZEN, binaryData: { b: 'YQ==' } }, ['binaryData "(withheld)"']],
  ['Service', { spec: BALANCED }, { spec: { ...BALANCED, healthCheckNodePort: 0 } }, []],
  [
    'Service',
    { spec: BALANCED },
    { spec: { ...BALANCED, healthCheckNodePort: 2 } },
    ['spec.healthCheckNodePort 2'],
  ],
  [
    'Service',
    { spec: BALANCED },
    { spec: { ...BALANCED, loadBalancerClass: 'x' } },
    ['spec.loadBalancerClass "x"'],
  ],
  [
    'Service',
    { spec: { type: 'ClusterIP' } },
    { spec: { ...BALANCED, loadBalancerClass: 'x' } },
    [],
  ],
])('a %s of %j as %j: %j', (kind, old, next, expected) => {
  expect(placesOf(validateUpdate(kind, next, old))).toEqual(expected)
})
