import { boolean, integer, oneOf } from '../../../settings/scalar-types.ts'
import { accept, refuse, type ValueType } from '../../../settings/value-type.ts'
import {
  type EnforcementChoice,
  ESTABLISHED_CONNECTIONS,
  type FieldsOf,
  type PathsUnder,
  UNKNOWN_PODS,
} from './configuration.ts'

const AUTO = 'auto'
const REMEDY = `write ${AUTO}, true or false`

/** A boolean or `auto`. */
const booleanOrAuto: ValueType<EnforcementChoice> = {
  name: 'auto, true or false',
  schema: { enum: [AUTO, false, true] },
  decode: (raw) => (raw === AUTO || typeof raw === 'boolean' ? accept(raw) : refuse(REMEDY)),
  fromFlag(text) {
    if (text === AUTO) return accept(AUTO)
    const read = boolean.fromFlag(text)
    return read.ok ? read : refuse(REMEDY)
  },
  encode: (value) => value,
}

/** Whether and how this node enforces NetworkPolicies. */
export const networkPolicyFields: FieldsOf<PathsUnder<'networkPolicy'>> = {
  'networkPolicy.enforce': {
    flag: 'network-policy-enforce',
    type: booleanOrAuto,
    fallback: AUTO,
    doc: 'Whether NetworkPolicies are enforced for the pods of this node, in every mode: network-policy.md. auto: if no other program on the node enforces them, and pods, namespaces and network policies may be listed and watched. true: also beside another program; what prevents it is a condition. When it is turned off, its rules are removed.',
    reload: 'live',
  },
  'networkPolicy.unknownPods': {
    flag: 'network-policy-unknown-pods',
    type: oneOf(UNKNOWN_PODS),
    fallback: 'allow',
    doc: 'New connections from and to an address of the networks of this node’s pods that no known pod has. allow: they pass, so a pod is open until the API server has its address. deny: no pod is open before its policies are in force, and no pod, also without policies, reaches others or is reached before the API server has its address; what it sent before is lost, and TCP tries again a second later.',
    reload: 'live',
  },
  'networkPolicy.establishedConnections': {
    flag: 'network-policy-established-connections',
    type: oneOf(ESTABLISHED_CONNECTIONS),
    fallback: 'cut',
    doc: 'Connections that are open when a policy forbids them. cut: they end within a second or two. keep: they go on until an end closes them.',
    reload: 'live',
  },
  'networkPolicy.logDeniedPerSecond': {
    flag: 'network-policy-log-denied-per-second',
    type: integer(0, 1_000),
    fallback: 0,
    doc: 'The most records of denied connections that are logged in a second: a sample, with addresses, ports, pods and policies; network-policy.md#log-what-is-denied. 0: none, and the rules log nothing.',
    reload: 'live',
  },
}
