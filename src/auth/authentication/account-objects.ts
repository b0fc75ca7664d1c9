import type { BoundObject } from '../tokens/account-claims.ts'

/** What must be known of an object to say whether a token may still be used. */
export interface LiveObject {
  readonly uid: string
  /** Milliseconds since 1970; undefined: it is not being deleted. */
  readonly deletedAt: number | undefined
}

/** The objects that tokens depend on, as the caches of the server show them. */
export interface AccountObjects {
  account(namespace: string, name: string): LiveObject | undefined
  /** `namespace` is that of the token; a Node has none. */
  bound(namespace: string, object: BoundObject): LiveObject | undefined
  /** The token in a Secret of the type for tokens; undefined: there is none. */
  tokenInSecret(namespace: string, name: string): string | undefined
}
