import { tokenRefusal } from '../../../auth/node/node-writes.ts'
import { BOUND_KINDS, type BoundObject } from '../../../auth/tokens/account-claims.ts'
import { TOKEN_LIFETIMES } from '../../../auth/tokens/token-issuer.ts'
import { timestamp } from '../../../lib/duration.ts'
import { arrayAt, type JsonObject, objectAt, stringAt, valueAt } from '../../../lib/json.ts'
import { readMetadata } from '../../../resources/metadata.ts'
import { isIntegerIn } from '../../../resources/port.ts'
import type { Reader } from '../../../resources/reader.ts'
import { ageColumn, type Column, column, nameColumn } from '../../resource/column.ts'
import type {
  AnswerContext,
  AnsweredSubresource,
  ObjectReader,
  Resource,
} from '../../resource/resource.ts'
import { badRequest, conflict, forbidden, notFound, StatusError } from '../../status/status.ts'
import { checkName } from '../shared/checks.ts'
import { BINDABLE } from '../shared/escalation.ts'

const columns: readonly Column[] = [
  nameColumn,
  column('Secrets', 'How many secrets it may use.', (object) =>
    String(arrayAt(object, 'secrets').length),
  ),
  ageColumn,
]

/** With more, a token would be longer than the server accepts. */
const MAX_AUDIENCE_BYTES = 4096

const LIFETIME_FAULT = `must be a number of seconds from ${TOKEN_LIFETIMES.least} to ${TOKEN_LIFETIMES.most}`

/** `POST …/serviceaccounts/<name>/token`: a token for the account, which the server does not store. */
const tokenRequest: AnsweredSubresource = {
  name: 'token',
  type: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' },
  validate: checkTokenRequest,
  answer: answerTokenRequest,
}

export const serviceAccounts: Resource = {
  plural: 'serviceaccounts',
  singular: 'serviceaccount',
  kind: 'ServiceAccount',
  shortNames: ['sa'],
  namespaced: true,
  returnsDeleted: true,
  versions: [{ group: '', version: 'v1' }],
  answered: [tokenRequest],
  columns,
  validate: checkServiceAccount,
  validateUpdate: 'none',
  defaults: 'none',
}

function checkServiceAccount(object: Reader): void {
  readMetadata(object, { namespaced: true, name: 'subdomain' })
  object.flag('automountServiceAccountToken')
  for (const secret of object.objects('secrets')) checkName(secret, 'subdomain')
  for (const secret of object.objects('imagePullSecrets')) checkName(secret, 'subdomain')
}

function checkTokenRequest(document: Reader): void {
  const spec = document.object('spec')
  const seconds = spec.value('expirationSeconds')
  const { least, most } = TOKEN_LIFETIMES
  if (seconds !== undefined && !isIntegerIn(seconds, least, most)) {
    spec.refuse('expirationSeconds', LIFETIME_FAULT)
  }
  const audiences = JSON.stringify(spec.list('audiences'))
  if (Buffer.byteLength(audiences) > MAX_AUDIENCE_BYTES) {
    spec.refuse('audiences', `must have at most ${MAX_AUDIENCE_BYTES} bytes as JSON`)
  }
}

async function answerTokenRequest(
  { user, objects, issuance }: AnswerContext,
  account: JsonObject,
  document: JsonObject,
): Promise<JsonObject | StatusError> {
  if (issuance === undefined) return issuesNone()
  const { name, namespace, uid } = identityOf(account)
  const spec = objectAt(document, 'spec')
  const bound = boundObject(objects, account, spec)
  if (bound instanceof StatusError) return bound
  const pod = bound?.kind === 'pod' ? objects.get(BINDABLE.pod, namespace, bound.name) : undefined
  const refusal = tokenRefusal(user, name, document, pod)
  if (refusal !== undefined) {
    return forbidden({ plural: 'serviceaccounts', group: '', name }, refusal)
  }
  const requested = arrayAt(spec, 'audiences').filter((one) => typeof one === 'string')
  const audiences = requested.length === 0 ? [...issuance.audiences] : requested
  const wished = Number(valueAt(spec, 'expirationSeconds') ?? TOKEN_LIFETIMES.usual)
  const lifetimeSeconds = Math.min(wished, issuance.maxLifetimeSeconds)
  const claims = { namespace, account: { name, uid }, ...(bound !== undefined && { bound }) }
  const { token, expiresAt } = await issuance.issuer.issue({ claims, audiences, lifetimeSeconds })
  return {
    spec: { ...spec, audiences, expirationSeconds: lifetimeSeconds },
    status: { token, expirationTimestamp: timestamp(expiresAt.getTime()) },
  }
}

/** The object that the token is bound to; undefined: the request names none. */
function boundObject(
  objects: ObjectReader,
  account: JsonObject,
  spec: JsonObject,
): BoundObject | StatusError | undefined {
  const reference = valueAt(spec, 'boundObjectRef')
  if (reference === undefined) return undefined
  const [apiVersion, kind] = [stringAt(reference, 'apiVersion'), stringAt(reference, 'kind')]
  const boundKind = BOUND_KINDS.find((one) => BINDABLE[one].kind === kind)
  if (boundKind === undefined || !['', 'v1'].includes(apiVersion)) {
    return badRequest(
      `a token cannot be bound to an object of the kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}: only to a Pod, Secret or Node of v1`,
    )
  }
  const resource = BINDABLE[boundKind]
  const name = stringAt(reference, 'name')
  const subject = { plural: resource.plural, group: '', name }
  const object = objects.get(resource, identityOf(account).namespace, name)
  if (object === undefined) return notFound(subject)
  if (boundKind === 'pod' && !isPodOf(object, account)) {
    return badRequest(
      `a token of the account ${JSON.stringify(identityOf(account).name)} cannot be bound to a Pod of another account`,
    )
  }
  const { uid } = identityOf(object)
  if (!['', uid].includes(stringAt(reference, 'uid'))) {
    return conflict(subject, 'the UID in boundObjectRef is not that of the object')
  }
  return { kind: boundKind, name, uid }
}

function isPodOf(pod: JsonObject, account: JsonObject): boolean {
  return stringAt(pod, 'spec', 'serviceAccountName') === identityOf(account).name
}

function identityOf(object: JsonObject) {
  const [name, namespace, uid] = ['name', 'namespace', 'uid'].map((field) =>
    stringAt(object, 'metadata', field),
  ) as [string, string, string]
  return { name, namespace, uid }
}

function issuesNone(): StatusError {
  const message = 'this server issues no tokens, because it knows no users'
  return new StatusError({ code: 404, reason: 'NotFound', message, details: {} })
}
