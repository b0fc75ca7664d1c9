import { isDeepEqual } from '../../lib/equal.ts'
import { arrayAt, type Json, type JsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import type { User } from '../user.ts'
import { nodeOfUser } from './node-authorizer.ts'
import { NODE_LEASES } from './node-permits.ts'
import { accountOf, isMirror, podNeedsAny } from './pod-references.ts'

/** Domains whose labels mean something to the cluster. */
const CLUSTER = /(?:^|\.)(?:kubernetes|k8s|orch)\.io$/u

/**
 * Labels of these domains that an agent may set nevertheless, as in Kubernetes: whole domains that are reserved
 * for agents (`OF_AGENTS`), and facts that an agent detects (`FOUND`).
 */
const OF_AGENTS = /(?:^|\.)(?:kubelet|node)\.(?:kubernetes|orch)\.io$/u
const FOUND =
  /^(?:(?:beta\.)?(?:kubernetes|orch)\.io\/(?:arch|hostname|instance-type|os)|(?:topology|failure-domain\.beta)\.(?:kubernetes|orch)\.io\/(?:region|zone))$/u

/**
 * Why a node agent may not write an object, whatever its roles permit: the rules of the admission plugin
 * NodeRestriction of Kubernetes. Undefined: it may, or the user is no node agent.
 */
export type NodeWriteRule = (
  user: User,
  next: JsonObject,
  old: JsonObject | undefined,
) => string | undefined

/**
 * An agent may write its own Node, but not change its owners, the labels that are reserved for administrators,
 * or, once the Node exists, its taints.
 */
export const nodeWrite: NodeWriteRule = (user, next, old) => {
  const node = nodeOfUser(user)
  if (node === undefined) return undefined
  if (stringAt(next, 'metadata', 'name') !== node)
    return `node ${quote(node)} may write its own Node only`
  if (!isSame(next, old, 'metadata', 'ownerReferences')) {
    return `node ${quote(node)} may not change the owners of its Node`
  }
  const labels = [next, old ?? {}].map((object) => objectAt(object, 'metadata', 'labels'))
  const changed = labels
    .flatMap((one) => Object.keys(one))
    .find((key) => isRestrictedLabel(key) && labels[0]?.[key] !== labels[1]?.[key])
  if (changed !== undefined) return `node ${quote(node)} may not change the label ${quote(changed)}`
  if (old !== undefined && !isSame(next, old, 'spec', 'taints')) {
    return `node ${quote(node)} may not change the taints of its Node`
  }
  return undefined
}

/** An agent may write its own Lease in the namespace of node Leases. */
export const leaseWrite: NodeWriteRule = (user, next) => {
  const node = nodeOfUser(user)
  if (node === undefined) return undefined
  const { name, namespace } = objectAt(next, 'metadata')
  if (name === node && namespace === NODE_LEASES) return undefined
  return `node ${quote(node)} may write its own Lease in ${NODE_LEASES} only`
}

/** An agent may write its own CSINode. */
export const csiNodeWrite: NodeWriteRule = (user, next) => {
  const node = nodeOfUser(user)
  if (node === undefined || stringAt(next, 'metadata', 'name') === node) return undefined
  return `node ${quote(node)} may write its own CSINode only`
}

/**
 * An agent may write a Pod that is bound to its node, but not change its labels, owners or finalizers. The only
 * Pods that it may create are mirrors of those that it runs from files.
 */
export const podWrite: NodeWriteRule = (user, next, old) => {
  const node = nodeOfUser(user)
  if (node === undefined) return undefined
  if (old === undefined) return mirrorFault(node, next)
  if (stringAt(old, 'spec', 'nodeName') !== node) {
    return `node ${quote(node)} may write only Pods that are bound to it`
  }
  const changed = ['labels', 'ownerReferences', 'finalizers'].find(
    (field) => !isSame(next, old, 'metadata', field),
  )
  return changed && `node ${quote(node)} may not change metadata.${changed} of a Pod`
}

/** Why an agent may not create a Pod; undefined: it is a mirror, on its node and owned by its Node. */
function mirrorFault(node: string, pod: JsonObject): string | undefined {
  if (!isMirror(pod)) {
    return `node ${quote(node)} may create mirror Pods only`
  }
  if (stringAt(pod, 'spec', 'nodeName') !== node) {
    return `node ${quote(node)} may create mirror Pods of its own only: spec.nodeName must be its name`
  }
  const [owner, ...others] = arrayAt(pod, 'metadata', 'ownerReferences')
  const isOwn =
    stringAt(owner, 'kind') === 'Node' &&
    stringAt(owner, 'name') === node &&
    valueAt(owner, 'controller') === true &&
    valueAt(owner, 'blockOwnerDeletion') !== true
  if (!isOwn || others.length > 0) {
    return `node ${quote(node)} may create a Pod only with its Node as the only owner, its controller`
  }
  const needs = NEEDED.find((resource) => podNeedsAny(pod, resource))
  return needs && `node ${quote(node)} may not create a Pod that refers to ${needs}`
}

/** The kinds of objects that a mirror Pod must not refer to: its node may read those that its Pods refer to. */
const NEEDED = ['secrets', 'configmaps', 'persistentvolumeclaims'] as const

/**
 * Why the agent of a node may not request a token. The token must be bound by uid to a Pod that runs on the
 * node as the account. `request`: a TokenRequest; `pod`: the Pod that it names; undefined: that Pod does not
 * exist.
 */
export function tokenRefusal(
  user: User,
  account: string,
  request: JsonObject,
  pod: JsonObject | undefined,
): string | undefined {
  const node = nodeOfUser(user)
  if (node === undefined) return undefined
  const bound = valueAt(request, 'spec', 'boundObjectRef')
  const uid = stringAt(bound, 'uid')
  const isOfPod =
    stringAt(bound, 'kind') === 'Pod' && uid !== '' && stringAt(pod, 'metadata', 'uid') === uid
  const isHere = stringAt(pod, 'spec', 'nodeName') === node && accountOf(pod) === account
  if (isOfPod && isHere) return undefined
  return `node ${quote(node)} may only request tokens that are bound by uid to a Pod on it`
}

/** An absent list or map is an empty one. */
function isSame(next: JsonObject, old: JsonObject | undefined, ...path: string[]): boolean {
  const [now, before] = [next, old ?? {}].map((object) => contentOf(valueAt(object, ...path)))
  return isDeepEqual(now, before)
}

function contentOf(value: Json | undefined): Json {
  if (Array.isArray(value)) return arrayAt({ value }, 'value')
  const isEmpty = value === undefined || value === null || Object.keys(value).length === 0
  return isEmpty ? [] : value
}

function quote(text: string): string {
  return JSON.stringify(text)
}

/**
 * Whether only administrators may set a label of a Node: it says where Pods may run, or that the node belongs
 * to the control plane.
 */
function isRestrictedLabel(label: string): boolean {
  const slash = label.indexOf('/')
  const domain = label.slice(0, Math.max(0, slash))
  return CLUSTER.test(domain) && !OF_AGENTS.test(domain) && !FOUND.test(label)
}
