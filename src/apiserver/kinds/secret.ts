import { objectAt, stringAt } from '../../lib/json.ts'
import { readMetadata } from '../../resources/metadata.ts'
import { isSubdomain, NAMES, TOKEN_SECRET_TYPES } from '../../resources/names.ts'
import { isRaw, ownField, type Raw, type Reader } from '../../resources/reader.ts'
import { ageColumn, type Column, column, nameColumn } from '../resource/column.ts'
import type { Resource } from '../resource/resource.ts'
import { checkImmutableData, checkUnchanged } from './shared/checks.ts'
import { checkData, checkDataSize, isReadable, joinBase64Lines } from './shared/data-map.ts'
import { changePresent, fill, without } from './shared/edit.ts'

/** The types with rules, under both prefixes; any other type may hold anything. */
const SECRET_TYPES: ReadonlyMap<string, SecretType> = new Map<string, SecretType>([
  ['orch.io/registryconfigjson', { keys: ['.registryconfigjson'], json: true }],
  ['orch.io/registrycfg', { keys: ['.registrycfg'], json: true }],
  ['kubernetes.io/dockerconfigjson', { keys: ['.dockerconfigjson'], json: true }],
  ['kubernetes.io/dockercfg', { keys: ['.dockercfg'], json: true }],
  ...['orch.io', 'kubernetes.io'].flatMap((brand): readonly [string, SecretType][] => [
    [`${brand}/basic-auth`, { keys: ['username', 'password'], any: true }],
    [`${brand}/ssh-auth`, { keys: ['ssh-privatekey'] }],
    [`${brand}/tls`, { keys: ['tls.crt', 'tls.key'] }],
  ]),
])

const columns: readonly Column[] = [
  nameColumn,
  column('Type', 'What it is for.', (object) => stringAt(object, 'type')),
  column('Data', 'How many entries it has.', (object) =>
    String(Object.keys(objectAt(object, 'data')).length),
  ),
  ageColumn,
]

export const secrets: Resource = {
  plural: 'secrets',
  singular: 'secret',
  kind: 'Secret',
  namespaced: true,
  isConfidential: true,
  versions: [{ group: '', version: 'v1' }],
  fields: (object) => ({ type: stringAt(object, 'type') }),
  columns,
  validate: checkSecret,
  validateUpdate: checkSecretUpdate,
  defaults: defaultSecret,
}

/** A Secret whose write-only `stringData` was encoded and moved to `data`. */
function defaultSecret(given: Raw): Raw {
  const secret = changePresent(fill(given, { type: 'Opaque' }), 'data', joinBase64Lines)
  const texts = ownField(secret, 'stringData')
  const data = ownField(secret, 'data') ?? {}
  if (!isRaw(texts) || !isRaw(data)) return secret
  if (!Object.values(texts).every((text) => typeof text === 'string')) return secret
  const encoded = Object.entries(texts).map(
    ([key, text]) => [key, Buffer.from(String(text)).toString('base64')] as const,
  )
  return { ...without(secret, 'stringData'), data: { ...data, ...Object.fromEntries(encoded) } }
}

/** The rules for a Secret in stored form. No message contains any of its values. */
function checkSecret(object: Reader): void {
  const metadata = readMetadata(object, { namespaced: true, name: 'subdomain' })
  object.flag('immutable')
  checkDataSize(object, checkData(object, 'data', 'base64'))
  checkData(object, 'stringData', 'text')
  const type = object.text('type') ?? ''
  if (metadata !== undefined && TOKEN_SECRET_TYPES.includes(type)) {
    checkAccountName(metadata.annotations, type)
  }
  const rules = SECRET_TYPES.get(type)
  if (rules !== undefined && isReadable(object, 'data')) checkKeys(object.map('data'), rules)
}

/**
 * If the annotations of both prefixes exist, they must name the same account; otherwise programs could disagree
 * about whose token it is. A message about a missing one names the annotation with the prefix of the type.
 */
function checkAccountName(annotations: Reader, type: string): void {
  const present = NAMES.serviceAccount.filter((name) => annotations.value(name) !== undefined)
  const ofType = NAMES.serviceAccount.find((name) => brandOf(name) === brandOf(type))
  const [first = ofType ?? NAMES.serviceAccount[0], ...others] = present
  const account = annotations.value(first)
  if (typeof account !== 'string' || !isSubdomain(account)) {
    annotations.refuse(first, 'must name the ServiceAccount of the token')
  }
  for (const other of others.filter((name) => annotations.value(name) !== account)) {
    annotations.refuse(other, `must name the same ServiceAccount as ${first}`)
  }
}

/** The prefix of a name, such as `kubernetes.io`. */
function brandOf(name: string): string {
  return name.slice(0, name.indexOf('/'))
}

function checkKeys(data: Reader, { keys, any, json }: SecretType): void {
  const missing = keys.filter((key) => data.value(key) === undefined)
  const isComplete = any ? missing.length < keys.length : missing.length === 0
  if (!isComplete) {
    for (const key of missing) data.refuse(key, 'must be given in a Secret of this type')
  }
  if (!json) return
  for (const key of keys.filter((one) => !missing.includes(one))) {
    if (!isJsonText(data.value(key))) data.withhold(key, 'must be a JSON object, as base64')
  }
}

function isJsonText(value: unknown): boolean {
  try {
    return typeof value === 'string' && isRaw(JSON.parse(Buffer.from(value, 'base64').toString()))
  } catch {
    return false
  }
}

/** The type is immutable, as is the data of a Secret with `immutable: true`. */
function checkSecretUpdate(next: Reader, old: Reader): void {
  checkUnchanged(next, old, 'type')
  checkImmutableData(next, old)
}

/** The rules of a Secret type for its data. */
interface SecretType {
  readonly keys: readonly string[]
  /** One of the keys is enough. */
  readonly any?: true
  /** The value of the key is a JSON object. */
  readonly json?: true
}
