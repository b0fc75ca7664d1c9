import { type JsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import {
  CA_KEY,
  NAMES,
  NAMESPACE_KEY,
  TOKEN_KEY,
  TOKEN_SECRET_TYPES,
} from '../../resources/names.ts'
import { type MetadataObject, readMetadataObject } from './object-meta.ts'

/** The fields of a Secret that controllers read: its metadata, and those about the token of an account. */
export interface SecretObject extends MetadataObject {
  /** Undefined: the Secret is of another type. */
  readonly token: TokenSecret | undefined
}

/** A Secret that holds the token of an account. The token itself is not kept. */
export interface TokenSecret {
  /** The name of the account, which is in the same namespace; any text. */
  readonly accountName: string
  /** The uid of the account that the token was issued to; empty before there is one. */
  readonly accountUid: string
  /** The annotation for the uid; its prefix is that of the annotation with the name. */
  readonly uidAnnotation: string
  /** Whether the Secret holds a token. */
  readonly isFilled: boolean
  /** `data["ca.crt"]` and `data.namespace`, in base64. */
  readonly ca: string
  readonly namespace: string
  /** The field `immutable`: the data cannot be changed. */
  readonly isImmutable: boolean
}

/** Reads a Secret as the API server sent it; see `readMeta` for missing fields. */
export function readSecret(object: JsonObject): SecretObject {
  const isToken = TOKEN_SECRET_TYPES.includes(stringAt(object, 'type'))
  return { ...readMetadataObject(object), token: isToken ? readToken(object) : undefined }
}

function readToken(object: JsonObject): TokenSecret {
  const annotations = objectAt(object, 'metadata', 'annotations')
  const data = objectAt(object, 'data')
  const brand = NAMES.serviceAccount.findIndex((name) => stringAt(annotations, name) !== '')
  const uids = NAMES.serviceAccountUid.map((name) => stringAt(annotations, name))
  return {
    accountName: stringAt(annotations, NAMES.serviceAccount[brand] ?? ''),
    accountUid: uids.find((uid) => uid !== '') ?? '',
    uidAnnotation: NAMES.serviceAccountUid[brand] ?? NAMES.serviceAccountUid[0],
    isFilled: stringAt(data, TOKEN_KEY) !== '',
    ca: stringAt(data, CA_KEY),
    namespace: stringAt(data, NAMESPACE_KEY),
    isImmutable: valueAt(object, 'immutable') === true,
  }
}
