import type { BoundKind } from '../../../auth/tokens/account-claims.ts'
import type { StoredResource } from '../../resource/resource.ts'

/** A kind of objects with which a token may end. */
export interface Bindable extends StoredResource {
  /** As a request names it. */
  readonly kind: string
}

/** The kinds of objects that a token can be bound to, by the word that its claims have for them. */
export const BINDABLE: Readonly<Record<BoundKind, Bindable>> = {
  pod: { kind: 'Pod', plural: 'pods', namespaced: true },
  secret: { kind: 'Secret', plural: 'secrets', namespaced: true },
  node: { kind: 'Node', plural: 'nodes', namespaced: false },
}
