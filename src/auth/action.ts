/** What a user wants to do: with objects of the API, or with another path of the server. */
export type Action = ResourceAction | PathAction

export interface ResourceAction {
  readonly verb: string
  /** Canonical, as `canonicalGroup` returns it; empty: the core group. */
  readonly group: string
  /** The plural name, as in URLs. */
  readonly resource: string
  /** Empty: the object itself. */
  readonly subresource: string
  /** Empty: all namespaces, or a cluster-scoped object. */
  readonly namespace: string
  /** Empty: no single object. */
  readonly name: string
}

export interface PathAction {
  /** The method of the request in lower case. */
  readonly verb: string
  readonly path: string
}

export function isPathAction(action: Action): action is PathAction {
  return 'path' in action
}
