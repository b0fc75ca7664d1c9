import { nodeOfUser } from '../auth/node/node-authorizer.ts'
import { timestamp } from '../lib/duration.ts'
import { arrayAt, type JsonObject, stringAt } from '../lib/json.ts'
import { API_SERVICE_NAMES, API_SERVICE_NAMESPACE } from '../resources/pod-environment.ts'
import { PENDING_REQUESTS_GROUP } from './cache/collections.ts'
import type { ObjectChange, View } from './cache/object-cache.ts'
import type { NodeObject } from './objects/node-object.ts'
import type { SigningRequest, SigningRequestObject } from './objects/plain-objects.ts'
import { type Controller, type Reconciliation, SETTLED } from './runner/controller.ts'
import type { Patch } from './runner/write.ts'

/** The signers of client and of serving certificates of kubelets. */
export const KUBELET_SIGNERS = {
  client: 'kubernetes.io/kube-apiserver-client-kubelet',
  serving: 'kubernetes.io/kubelet-serving',
} as const

/** Decides on requests of kubelets and signs them. */
export interface RequestAuthority {
  /**
   * Returns the reason for which a request is approved; undefined: it is not approved. `addresses`: those of the Node
   * of the user, without those that another Node or a server of the API has, too.
   */
  approve(request: SigningRequest, addresses: readonly string[]): Promise<string | undefined>
  /** The certificate in PEM, or why it is not issued. */
  sign(
    request: SigningRequest,
  ): Promise<{ readonly certificate: string } | { readonly problem: string }>
}

/** A request that is not approved now may be later: when a role permits it. */
const RETRY_MS = 60_000

/**
 * Approves what kubelets may request, and signs what was approved for them, whoever approved it. Requests to other signers are
 * left alone. Without an authority the controller does nothing. A key is the name of a request.
 */
export function createCertificatesController(authority: RequestAuthority | undefined): Controller {
  const identity = { name: 'certificates', account: 'certificate-controller' }
  if (authority === undefined) return { ...identity, watches: {}, reconcile: () => SETTLED }
  return {
    ...identity,
    watches: {
      certificatesigningrequests: ({ key, after }) => (after?.isPending === true ? [key] : []),
      nodes: requestsOf,
    },
    reconcile: (key, view, now) => reconcile(key, { view, now, authority }),
  }
}

/** The pending requests of a node whose addresses changed. */
function requestsOf(
  { key, before, after }: ObjectChange<NodeObject>,
  view: View,
): readonly string[] {
  if (before?.addresses.join() === after?.addresses.join()) return []
  return [...view.certificatesigningrequests.group(PENDING_REQUESTS_GROUP)]
    .filter(({ request }) => nodeOfUser(request.user) === key)
    .map(({ meta }) => meta.key)
}

interface ReconcileContext {
  readonly view: View
  readonly now: number
  readonly authority: RequestAuthority
}

function reconcile(key: string, { view, now, authority }: ReconcileContext): Reconciliation {
  const object = view.certificatesigningrequests.get(key)
  if (object?.isPending !== true || object.meta.terminating) return SETTLED
  const { request } = object
  const signers: readonly string[] = Object.values(KUBELET_SIGNERS)
  if (!signers.includes(request.signerName)) return SETTLED
  if (object.isApproved) return { writes: [certificateWrite(object, { authority, now })] }
  const addresses = exclusiveAddresses(nodeOfUser(request.user), view)
  const complete = async (): Promise<JsonObject | undefined> => {
    const message = await authority.approve(request, addresses)
    const condition = { type: 'Approved', status: 'True', reason: 'AutoApproved' }
    if (message === undefined) return undefined
    return withCondition(object, { ...condition, message }, now)
  }
  return { writes: [patchOf(object, 'approval', complete)], againMs: RETRY_MS }
}

/** The certificate, or the condition that it cannot be issued; it is signed when the write is made. */
function certificateWrite(
  object: SigningRequestObject,
  { authority, now }: Pick<ReconcileContext, 'authority' | 'now'>,
): Patch {
  return patchOf(object, 'status', async () => {
    const signed = await authority.sign(object.request)
    if ('certificate' in signed) {
      return { status: { certificate: Buffer.from(signed.certificate).toString('base64') } }
    }
    const condition = { type: 'Failed', status: 'True', reason: 'SignerValidationFailure' }
    return withCondition(object, { ...condition, message: signed.problem }, now)
  })
}

function patchOf(
  { meta }: SigningRequestObject,
  subresource: 'approval' | 'status',
  complete: NonNullable<Patch['complete']>,
): Patch {
  const collection = 'certificatesigningrequests'
  return { verb: 'patch', collection, meta, subresource, body: {}, complete }
}

function withCondition(
  { conditions }: SigningRequestObject,
  condition: JsonObject,
  now: number,
): JsonObject {
  const at = timestamp(now)
  const dated = { ...condition, lastUpdateTime: at, lastTransitionTime: at }
  return { status: { conditions: [...conditions, dated] } }
}

/**
 * The addresses of a Node that no other Node has, and no server of the API: a node writes its addresses itself, and a
 * certificate for those of another would let it pose as that one.
 */
function exclusiveAddresses(name: string | undefined, view: View): readonly string[] {
  const node = name === undefined ? undefined : view.nodes.get(name)
  if (node === undefined) return []
  const taken = new Set(serverAddresses(view))
  for (const other of view.nodes.values()) {
    if (other.meta.name !== name) for (const address of other.addresses) taken.add(address)
  }
  return node.addresses.filter((address) => !taken.has(address))
}

function serverAddresses(view: View): readonly string[] {
  return API_SERVICE_NAMES.flatMap((name) => {
    const subsets = view.endpoints.get(`${API_SERVICE_NAMESPACE}/${name}`)?.subsets ?? []
    return subsets.flatMap((subset) =>
      arrayAt(subset, 'addresses').map((one) => stringAt(one, 'ip')),
    )
  })
}
