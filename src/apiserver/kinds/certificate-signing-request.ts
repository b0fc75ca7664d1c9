import type { WriterAccess } from '../../auth/rbac/authorizer.ts'
import { shortDuration, timestamp } from '../../lib/duration.ts'
import { isDeepEqual } from '../../lib/equal.ts'
import {
  arrayAt,
  type Json,
  type JsonObject,
  objectAt,
  stringAt,
  valueAt,
  without,
} from '../../lib/json.ts'
import { certificateFault } from '../../lib/tls/pem.ts'
import { CERTIFICATES_GROUP } from '../../resources/api-groups.ts'
import { readMetadata } from '../../resources/metadata.ts'
import { isQualifiedName } from '../../resources/names.ts'
import type { Reader } from '../../resources/reader.ts'
import { ageColumn, type Column, column, nameColumn } from '../resource/column.ts'
import {
  aliasVersions,
  type CompletionInput,
  type ReservedFields,
  type Resource,
} from '../resource/resource.ts'
import { forbidden, type StatusError } from '../status/status.ts'
import { checkField, checkInteger, checkOneOf } from './shared/checks.ts'
import { isBase64 } from './shared/data-map.ts'

const DECISIONS = ['Approved', 'Denied']
const FINAL = [...DECISIONS, 'Failed']
const MIN_SECONDS = 600
const HOUR_MS = 3_600_000
/** A request that is not decided is kept for a day, others for an hour, as kube-controller-manager keeps them. */
const PENDING_HOURS = 24

const USAGES = [
  'signing',
  'digital signature',
  'content commitment',
  'key encipherment',
  'key agreement',
  'data encipherment',
  'cert sign',
  'crl sign',
  'encipher only',
  'decipher only',
  'any',
  'server auth',
  'client auth',
  'code signing',
  'email protection',
  's/mime',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'timestamping',
  'ocsp signing',
  'microsoft sgc',
  'netscape sgc',
]

const columns: readonly Column[] = [
  nameColumn,
  ageColumn,
  column('SignerName', 'Who is to sign it.', (object) => stringAt(object, 'spec', 'signerName')),
  column('Requestor', 'The user who requests the certificate.', (object) =>
    stringAt(object, 'spec', 'username'),
  ),
  column('RequestedDuration', 'How long the certificate is to be valid.', (object) => {
    const seconds = valueAt(object, 'spec', 'expirationSeconds')
    return typeof seconds === 'number' ? shortDuration(seconds) : '<none>'
  }),
  column('Condition', 'Whether it is approved, and whether the certificate is issued.', condition),
]

/** The subresource by which a request is approved or denied; nothing else changes there. */
const approval: ReservedFields = {
  subresource: 'approval',
  keep: (next, old) =>
    old === undefined ? next : { ...next, spec: old['spec']!, status: statusOf(next, old) },
  take: (sent, old, now) => ({
    ...old,
    status: { ...objectAt(old, 'status'), conditions: dated(conditionsOf(sent), old, now) },
  }),
}

/** certificates.k8s.io/v1 CertificateSigningRequest, with the subresources approval and status. */
export const certificateSigningRequests: Resource = {
  plural: 'certificatesigningrequests',
  singular: 'certificatesigningrequest',
  kind: 'CertificateSigningRequest',
  shortNames: ['csr'],
  namespaced: false,
  versions: aliasVersions('certificates', 'v1'),
  status: { initial: () => ({}) },
  reserved: approval,
  fields: (object) => ({ 'spec.signerName': stringAt(object, 'spec', 'signerName') }),
  expiry: { lifetimeMs: HOUR_MS, lastSeen: decidedAt },
  columns,
  checkWriter: checkDecision,
  validate: checkRequest,
  validateUpdate: checkRequestUpdate,
  defaults: 'none',
  complete: withRequestor,
}

function condition(object: JsonObject): string {
  const types = conditionsOf(object).map((one) => stringAt(one, 'type'))
  const decision = ['Denied', 'Approved'].find((type) => types.includes(type)) ?? 'Pending'
  const failed = types.includes('Failed') ? ',Failed' : ''
  return `${decision}${failed}${certificateOf(object) === '' ? '' : ',Issued'}`
}

/** The server names the user, whatever the client says. */
function withRequestor({ user }: CompletionInput, next: JsonObject): JsonObject {
  const { name, uid, groups, extra } = user
  const sent = without(objectAt(next, 'spec'), 'username', 'uid', 'groups', 'extra')
  const requestor: JsonObject = {
    username: name,
    ...(uid !== undefined && { uid }),
    groups: [...groups],
    ...(extra !== undefined && {
      extra: Object.fromEntries([...extra].map(([key, values]) => [key, [...values]])),
    }),
  }
  return { ...next, spec: { ...sent, ...requestor } }
}

/** The status of `next` with the decisions of `old`: a signer may write everything else. */
function statusOf(next: JsonObject, old: JsonObject): JsonObject {
  const isDecision = (one: Json): boolean => DECISIONS.includes(stringAt(one, 'type'))
  const others = conditionsOf(next).filter((one) => !isDecision(one))
  const conditions = [...conditionsOf(old).filter(isDecision), ...others]
  const status = without(objectAt(next, 'status'), 'conditions')
  return conditions.length === 0 ? status : { ...status, conditions }
}

/** New conditions get the time of the server where the client names none. */
function dated(conditions: readonly Json[], old: JsonObject, now: number): Json[] {
  const before = conditionsOf(old)
  return conditions.map((one) => {
    const isKnown = before.some((known) => isDeepEqual(known, one))
    return isKnown ? one : { lastTransitionTime: timestamp(now), ...objectAt(one) }
  })
}

/**
 * The time from which the lifetime of an hour counts. For a decided request it is that of its latest condition. For a
 * pending one it is 23 hours after its creation, so that it is kept for a day.
 */
function decidedAt(object: JsonObject): number {
  const created = Date.parse(stringAt(object, 'metadata', 'creationTimestamp'))
  const times = conditionsOf(object).map((one) => Date.parse(stringAt(one, 'lastTransitionTime')))
  const known = times.filter((time) => !Number.isNaN(time))
  const pending = created + (PENDING_HOURS - 1) * HOUR_MS
  const at = conditionsOf(object).length === 0 ? pending : Math.max(created, ...known)
  return Number.isNaN(at) ? Number.POSITIVE_INFINITY : at
}

/**
 * 403 for a user who decides on a request without the verb `approve`, or who issues a certificate without the verb
 * `sign`, on the signer.
 */
function checkDecision(
  writer: WriterAccess,
  next: JsonObject,
  old: JsonObject | undefined,
): StatusError | undefined {
  if (old === undefined) return undefined
  const ofTypes = (object: JsonObject, isWanted: (type: string) => boolean): readonly Json[] =>
    conditionsOf(object).filter((one) => isWanted(stringAt(one, 'type')))
  const isDecision = (type: string): boolean => DECISIONS.includes(type)
  const isOther = (type: string): boolean => !isDecision(type)
  const decides = !isDeepEqual(ofTypes(next, isDecision), ofTypes(old, isDecision))
  const signs =
    certificateOf(next) !== certificateOf(old) ||
    !isDeepEqual(ofTypes(next, isOther), ofTypes(old, isOther))
  const verbs = [...(decides ? ['approve'] : []), ...(signs ? ['sign'] : [])]
  const signer = stringAt(old, 'spec', 'signerName')
  const missing = verbs.find((verb) => !mayUse(writer, verb, signer))
  if (missing === undefined) return undefined
  const name = stringAt(old, 'metadata', 'name')
  const subject = { plural: 'certificatesigningrequests', group: CERTIFICATES_GROUP, name }
  return forbidden(
    subject,
    `user not permitted to ${missing} requests with signerName ${JSON.stringify(signer)}`,
  )
}

/** The verb is permitted on the signer, or on all signers of its domain. */
function mayUse({ permits }: WriterAccess, verb: string, signer: string): boolean {
  const [domain = ''] = signer.split('/')
  const about = { group: CERTIFICATES_GROUP, resource: 'signers', subresource: '', namespace: '' }
  return [signer, `${domain}/*`].some((name) => permits({ verb, ...about, name }))
}

function checkRequest(object: Reader): void {
  readMetadata(object, { namespaced: false, name: 'segment' })
  const spec = object.object('spec')
  if (!isRequest(spec.value('request'))) {
    spec.refuse('request', 'must be a PEM block CERTIFICATE REQUEST in base64')
  }
  const signer = spec.value('signerName')
  if (typeof signer !== 'string' || !/^[^/]+\.[^/]+\//u.test(signer) || !isQualifiedName(signer)) {
    spec.refuse('signerName', 'must be a domain and a path, such as example.com/my-signer')
  }
  checkInteger(spec, 'expirationSeconds', MIN_SECONDS)
  const usages = spec.list('usages')
  if (usages.length === 0) spec.refuse('usages', 'must have at least one usage')
  for (const [index, usage] of usages.entries()) {
    if (!USAGES.some((one) => one === usage)) {
      spec.refuseItem('usages', index, { supported: USAGES })
    } else if (usages.indexOf(usage) < index) {
      spec.refuseItem('usages', index, { isDuplicate: true, other: 'those before it' })
    }
  }
  checkStatus(object.object('status'))
}

function checkStatus(status: Reader): void {
  const types = new Set<unknown>()
  for (const one of status.objects('conditions')) {
    const type = one.text('type') ?? ''
    if (type === '') one.refuse('type', 'must be the type of the condition')
    else if (types.has(type)) one.refuse('type', 'must differ from the other conditions')
    types.add(type)
    checkOneOf(one, 'status', FINAL.includes(type) ? ['True'] : ['True', 'False', 'Unknown'])
    if ((one.value('status') ?? '') === '') one.refuse('status', 'must be True')
  }
  if (DECISIONS.every((type) => types.has(type))) {
    status.refuse('conditions', 'must not have both Approved and Denied')
  }
  const isChain = (value: unknown): boolean => {
    const text = textOf(value)
    return text !== undefined && certificateFault(text) === undefined
  }
  checkField(status, 'certificate', isChain, 'must be certificates in PEM, in base64')
}

/** Decisions are final, and so is a certificate. */
function checkRequestUpdate(next: Reader, old: Reader): void {
  const [after, before] = [next.object('status'), old.object('status')]
  const kept = after.objects('conditions').map((one) => one.value('type'))
  const lost = before
    .objects('conditions')
    .map((one) => one.value('type'))
    .filter((type) => FINAL.some((one) => one === type) && !kept.includes(type))
  if (lost.length > 0) after.refuse('conditions', `must keep the condition ${lost.join(', ')}`)
  const certificate = before.value('certificate') ?? ''
  if (certificate !== '' && after.value('certificate') !== certificate) {
    after.refuse('certificate', 'is immutable once it is issued')
  }
}

const BLOCK =
  /^\s*-----BEGIN CERTIFICATE REQUEST-----\s+([A-Za-z0-9+/=\s]+)-----END CERTIFICATE REQUEST-----\s*$/u
const DER_SEQUENCE = 0x30

function isRequest(value: unknown): boolean {
  const [, content] = BLOCK.exec(textOf(value) ?? '') ?? []
  return content !== undefined && Buffer.from(content, 'base64')[0] === DER_SEQUENCE
}

/**
 * The text that a value holds as base64, which may have line breaks; undefined if it is not base64. Clients in Go could
 * not read a list that contains such a value.
 */
function textOf(value: unknown): string | undefined {
  const base64 = typeof value === 'string' ? value.replaceAll(/[\r\n]/g, '') : undefined
  return base64 !== undefined && isBase64(base64)
    ? Buffer.from(base64, 'base64').toString()
    : undefined
}

function conditionsOf(object: JsonObject): readonly Json[] {
  return arrayAt(object, 'status', 'conditions')
}

function certificateOf(object: JsonObject): string {
  return stringAt(object, 'status', 'certificate')
}
