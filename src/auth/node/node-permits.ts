import { type JsonObject, stringAt } from '../../lib/json.ts'
import type { ResourceAction } from '../action.ts'
import { podNeeds } from './pod-references.ts'

/** The objects from which the permissions of node agents are derived. */
export interface NodePods {
  /** Undefined: there is none. */
  pod(namespace: string, name: string): JsonObject | undefined
  /** All Pods of a namespace. */
  podsIn(namespace: string): Iterable<JsonObject>
  /** The node of a VolumeAttachment; undefined: there is none. */
  nodeOfAttachment(name: string): string | undefined
}

/** The namespace in which each node renews its Lease. */
export const NODE_LEASES = 'kube-node-lease'

const READ = ['get', 'list', 'watch']
const CHANGE = ['patch', 'update']

/**
 * Whether the agent of a node may do something, as the Node authorizer of Kubernetes decides: what its own
 * Node, Lease and Pods need. The name of an object to be created is not known yet; `node-writes.ts` checks it.
 */
export function nodePermits(node: string, action: ResourceAction, pods: NodePods): boolean {
  const { group, resource, subresource } = action
  const permits = PERMITS[`${group}/${resource}${subresource === '' ? '' : `/${subresource}`}`]
  return permits?.(node, action, pods) === true
}

type Permits = (node: string, action: ResourceAction, pods: NodePods) => boolean

const read: Permits = (_node, { verb }) => READ.includes(verb)
const create: Permits = (_node, { verb }) => verb === 'create'
const record: Permits = (_node, { verb }) => verb === 'create' || CHANGE.includes(verb)

const PERMITS: Readonly<Record<string, Permits>> = {
  '/nodes': (node, { verb, name }) =>
    verb === 'create' || (name === node && [...READ, ...CHANGE].includes(verb)),
  '/nodes/status': (node, { verb, name }) => name === node && ['get', ...CHANGE].includes(verb),
  'coordination.k8s.io/leases': (node, { verb, namespace, name }) =>
    namespace === NODE_LEASES &&
    (verb === 'create' || (name === node && ['get', 'delete', ...CHANGE].includes(verb))),
  '/pods': (node, action, pods) =>
    [...READ, 'create'].includes(action.verb) ||
    (action.verb === 'delete' && isOnNode(node, action, pods)),
  '/pods/status': (node, action, pods) =>
    CHANGE.includes(action.verb) && isOnNode(node, action, pods),
  '/pods/environment': (node, action, pods) =>
    action.verb === 'get' && isOnNode(node, action, pods),
  '/services': read,
  'node.k8s.io/runtimeclasses': read,
  'storage.k8s.io/csidrivers': read,
  'storage.k8s.io/csinodes': (node, { verb, name }) =>
    verb === 'create' || (name === node && ['get', 'delete', ...CHANGE].includes(verb)),
  'storage.k8s.io/volumeattachments': (node, { verb, name }, pods) =>
    verb === 'get' && pods.nodeOfAttachment(name) === node,
  'certificates.k8s.io/certificatesigningrequests': (_node, { verb }) =>
    [...READ, 'create'].includes(verb),
  'authentication.k8s.io/tokenreviews': create,
  'authorization.k8s.io/localsubjectaccessreviews': create,
  'authorization.k8s.io/subjectaccessreviews': create,
  '/events': record,
  'events.k8s.io/events': record,
  '/secrets': readOfPod,
  '/configmaps': readOfPod,
  '/serviceaccounts': readOfPod,
  '/serviceaccounts/token': (node, action, pods) =>
    action.verb === 'create' && isNeeded(node, action, pods),
}

function readOfPod(node: string, action: ResourceAction, pods: NodePods): boolean {
  return READ.includes(action.verb) && isNeeded(node, action, pods)
}

function isOnNode(node: string, { namespace, name }: ResourceAction, pods: NodePods): boolean {
  const pod = pods.pod(namespace, name)
  return pod !== undefined && stringAt(pod, 'spec', 'nodeName') === node
}

/** Whether a Pod on the node needs the object; a whole collection is never needed. */
function isNeeded(
  node: string,
  { resource, namespace, name }: ResourceAction,
  pods: NodePods,
): boolean {
  if (namespace === '' || name === '') return false
  for (const pod of pods.podsIn(namespace)) {
    if (stringAt(pod, 'spec', 'nodeName') === node && podNeeds(pod, resource, name)) return true
  }
  return false
}
