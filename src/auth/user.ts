/** The user that orch-server acts as when it reads from nodes for its clients; never that of a person. */
export const NODE_CLIENT = 'system:orch-server-node-client'

/** The built-in role that permits `NODE_CLIENT` to do so. */
export const NODE_READER_ROLE = 'system:node-inspection-reader'

/** The user that orch-server acts as when it connects to kubelets for its clients; never that of a person. */
export const KUBELET_CLIENT = 'system:orch-server-kubelet-client'

/** The built-in role that permits a user everything that kubelets serve, under the name of Kubernetes. */
export const KUBELET_CLIENT_ROLE = 'system:kubelet-api-admin'

/** Who sends a request, as authentication found it. Names are exact: case and bytes count. */
export interface User {
  readonly name: string
  /** Distinguishes an account from a deleted one of the same name; absent: the account has no uid. */
  readonly uid?: string
  readonly groups: readonly string[]
  /** What else the credentials say, e.g. the Pod that a token is bound to. */
  readonly extra?: ReadonlyMap<string, readonly string[]>
}

/** The user name of every request without credentials. */
export const ANONYMOUS = 'system:anonymous'

/** The group of every user whose credentials were accepted. */
export const AUTHENTICATED = 'system:authenticated'

/** The group of the user of every request without credentials. */
export const UNAUTHENTICATED = 'system:unauthenticated'

/** The group of the cluster's administrators; a built-in binding gives them every permission. */
export const MASTERS = 'system:masters'

/** The user of the server itself, which may write everything. */
export const SERVER_USER: User = { name: 'system:apiserver', groups: [MASTERS] }

/** The user name of every request to a server without users. */
export const UNSECURED = 'system:unsecured'
