import { isSubdomain } from '../resources/names.ts'
import { accountGroup } from './cache/collections.ts'
import type { ObjectChange, View } from './cache/object-cache.ts'
import { keyOf, type MetadataObject, type ObjectMeta } from './objects/object-meta.ts'
import type { TokenSecret } from './objects/secret-object.ts'
import type { Controller, Reconciliation } from './runner/controller.ts'
import { SETTLED } from './runner/controller.ts'
import { type TokenContents, tokenSecretWrites } from './token-secret-writes.ts'

/** How long a new Secret may exist without its account, in milliseconds: the two may be created in any order. */
const NEW_SECRET_GRACE_MS = 5_000

/**
 * Fills Secrets for tokens of accounts, and fills them again when part of the content was removed. A Secret
 * whose account is gone is deleted; an account of that name with another uid is another account. Without
 * `contents` the controller does nothing. A key is `namespace/name` of a Secret.
 */
export function createServiceAccountTokensController(
  contents: TokenContents | undefined,
): Controller {
  const identity = { name: 'serviceaccounttokens', account: 'tokens-controller' }
  if (contents === undefined) return { ...identity, watches: {}, reconcile: () => SETTLED }
  return {
    ...identity,
    watches: {
      secrets: ({ key, after }) => (after?.token === undefined ? [] : [key]),
      serviceaccounts: secretsOf,
    },
    reconcile: (key, view, now) => reconcile(key, { view, now, contents }),
  }
}

/** The Secrets of an account that was created, is being deleted, or is gone. */
function secretsOf(
  { key, before, after }: ObjectChange<MetadataObject>,
  view: View,
): readonly string[] {
  const isSame =
    before?.meta.uid === after?.meta.uid && before?.meta.terminating === after?.meta.terminating
  return isSame ? [] : [...view.secrets.group(accountGroup(key))].map(({ meta }) => meta.key)
}

interface Scene {
  readonly view: View
  readonly now: number
  readonly contents: TokenContents
}

function reconcile(key: string, { view, now, contents }: Scene): Reconciliation {
  const { meta, token } = view.secrets.get(key) ?? {}
  if (meta === undefined || token === undefined || meta.terminating) return SETTLED
  const account = view.serviceaccounts.get(keyOf({ ...meta, name: token.accountName }))?.meta
  const isNew = token.accountUid === ''
  if (account !== undefined && (isNew || token.accountUid === account.uid)) {
    if (account.terminating || token.isImmutable) return SETTLED
    return { writes: tokenSecretWrites({ meta, token, account }, contents) }
  }
  const waitMs = isNew ? Date.parse(meta.createdAt) + NEW_SECRET_GRACE_MS - now : 0
  return waitMs > 0 ? { writes: [], againMs: waitMs } : deletion(meta, token)
}

/** The deletion of a Secret. The server must confirm that the account is gone, unless no account can have its name. */
function deletion(meta: ObjectMeta, { accountName, accountUid }: TokenSecret): Reconciliation {
  const account = {
    ...({ collection: 'serviceaccounts', namespace: meta.namespace } as const),
    name: accountName,
    uid: accountUid,
  }
  const absent = isSubdomain(accountName) ? [account] : []
  return { writes: [{ verb: 'delete', collection: 'secrets', meta, absent }] }
}
