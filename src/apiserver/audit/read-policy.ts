import { createReadStream } from 'node:fs'
import { NodeProxyError, systemCode } from '../../lib/error.ts'
import { nearest } from '../../lib/nearest.ts'
import { quote } from '../../lib/quote.ts'
import {
  describeFault,
  type Fault,
  type Fields,
  type Located,
  locateYaml,
  unknownField,
} from '../../lib/yaml.ts'
import { canonicalGroup } from '../../resources/api-groups.ts'
import {
  type AuditPolicy,
  type AuditRule,
  LEVELS,
  type ResourceSelector,
  STAGES,
  type Stage,
} from './audit-policy.ts'

const MAX_PROBLEMS = 10

const NO_FIELDS: Fields = new Map()

const API_VERSIONS = ['audit.orch.io/v1', 'audit.k8s.io/v1']
const KIND = 'Policy'
const POLICY_FIELDS = ['apiVersion', 'kind', 'metadata', 'rules', 'omitStages', 'omitManagedFields']
const RULE_FIELDS = [
  'level',
  'users',
  'userGroups',
  'verbs',
  'namespaces',
  'resources',
  'nonResourceURLs',
  'omitStages',
  'omitManagedFields',
]
const SELECTOR_FIELDS = ['group', 'resources', 'resourceNames']

/** What decoding a rule needs of its policy. */
interface PolicyScope {
  readonly problems: Problems
  readonly omitStages: readonly Stage[]
  readonly omitManagedFields: boolean
}

/**
 * The policy of a file. Everything that is ambiguous or would never match is a problem, because the effect of a
 * mistake in an audit policy, missing events, goes unnoticed.
 */
function decodePolicy(file: Located, problems: Problems): AuditPolicy {
  const fields = readFields(file, POLICY_FIELDS, problems)
  if (fields.size === 0) return { rules: [] }
  readChoice(required(file, fields.get('apiVersion'), 'apiVersion'), API_VERSIONS, problems)
  readChoice(required(file, fields.get('kind'), 'kind'), [KIND], problems)
  const scope: PolicyScope = {
    problems,
    omitStages: readStages(fields.get('omitStages'), problems),
    omitManagedFields: readFlag(fields.get('omitManagedFields'), problems) ?? false,
  }
  const rules = required(file, fields.get('rules'), 'rules')
  const items = readItems(rules, problems)
  if (items.length === 0 && ('items' in rules.value || present(rules) === undefined)) {
    problems.add(rules, 'write at least one rule: without rules nothing is audited')
  }
  return { rules: items.flatMap((item) => decodeRule(item, scope) ?? []) }
}

/** The field, or an absent value at the position where it should be. */
function required(parent: Located, found: Located | undefined, name: string): Located {
  const path = parent.path === '' ? name : `${parent.path}.${name}`
  return found ?? { ...parent, path, value: { scalar: null } }
}

function decodeRule(at: Located, scope: PolicyScope): AuditRule | undefined {
  const { problems } = scope
  const fields = readFields(at, RULE_FIELDS, problems)
  if (fields.size === 0) return undefined
  const level = readChoice(required(at, fields.get('level'), 'level'), LEVELS, problems)
  const texts = (name: string, check = checkExact): ReadonlySet<string> | undefined =>
    unlessEmpty(readTexts(fields.get(name), problems, check))
  const resources = readItems(fields.get('resources'), problems).map((item) =>
    decodeSelector(item, problems),
  )
  const paths = readTexts(fields.get('nonResourceURLs'), problems, checkPath)
  const namespaces = texts('namespaces')
  if (paths.length > 0 && (resources.length > 0 || namespaces !== undefined)) {
    const remedy = 'a rule is for resources or for paths; divide it into two rules'
    problems.add(fields.get('nonResourceURLs') ?? at, remedy)
  }
  const omitStages = readStages(fields.get('omitStages'), problems)
  const omitManagedFields = readFlag(fields.get('omitManagedFields'), problems)
  if (level === undefined) return undefined
  return {
    level,
    users: texts('users'),
    userGroups: texts('userGroups'),
    verbs: texts('verbs', checkVerb),
    namespaces,
    resources: resources.length === 0 ? undefined : resources,
    nonResourceURLs: paths.length === 0 ? undefined : paths,
    omitStages: new Set([...scope.omitStages, ...omitStages]),
    omitManagedFields: omitManagedFields ?? scope.omitManagedFields,
  }
}

function decodeSelector(at: Located, problems: Problems): ResourceSelector {
  const fields = readFields(at, SELECTOR_FIELDS, problems)
  const group = decodeGroup(fields.get('group'), problems)
  const resources = readTexts(fields.get('resources'), problems, checkResource)
  const resourceNames = readTexts(fields.get('resourceNames'), problems, checkExact)
  if (resourceNames.length > 0 && resources.length === 0) {
    const remedy = 'resourceNames need resources; write resources too'
    problems.add(fields.get('resourceNames') ?? at, remedy)
  }
  return { group, resources, resourceNames: new Set(resourceNames) }
}

/** The API group in canonical form; the core group (empty) where the field is absent or wrong. */
function decodeGroup(field: Located | undefined, problems: Problems): string {
  const at = present(field)
  if (at === undefined) return ''
  const group = scalarOf(at)
  if (typeof group === 'string' && /^[a-z0-9.-]*$/.test(group)) return canonicalGroup(group)
  problems.add(at, 'write one group without its version, such as "apps"; "" is the core group')
  return ''
}

function readStages(at: Located | undefined, problems: Problems): readonly Stage[] {
  const known: readonly string[] = STAGES
  const check = (text: string): string | undefined =>
    known.includes(text) ? undefined : `write ${STAGES.join(', ')}`
  return readTexts(at, problems, check) as readonly Stage[]
}

function unlessEmpty(texts: readonly string[]): ReadonlySet<string> | undefined {
  return texts.length === 0 ? undefined : new Set(texts)
}

/** Refuses `*`, which is not a wildcard here: the rule would match no request. */
function checkExact(text: string): string | undefined {
  return text.includes('*')
    ? 'names are compared literally; leave the field out to match all'
    : undefined
}

function checkVerb(verb: string): string | undefined {
  return /[A-Z]/.test(verb) ? 'write verbs in lower case, such as get' : checkExact(verb)
}

function checkPath(path: string): string | undefined {
  if (path !== '*' && !path.startsWith('/')) return 'write a path, which starts with a slash'
  return path.slice(0, -1).includes('*') ? 'write * only at the end' : undefined
}

function checkResource(text: string): string | undefined {
  if (/^(?:\*|[a-z0-9.-]+)(?:\/(?:\*|[a-z0-9.-]+))?$/.test(text) && text !== '*/*') return undefined
  return 'write resources in plural as in URLs: pods, pods/log, pods/*, */status or *'
}

/** The fields of a map. An unknown field is a problem, because it would have no effect. */
function readFields(at: Located, known: readonly string[], problems: Problems): Fields {
  if (!('fields' in at.value)) {
    problems.add(at, `write a map of ${known.join(', ')}`)
    return NO_FIELDS
  }
  for (const [name, field] of at.value.fields) {
    if (!known.includes(name)) problems.addUnknown(field, nearest(name, known))
  }
  return at.value.fields
}

/** The items of a list; absent or null: none. */
function readItems(field: Located | undefined, problems: Problems): readonly Located[] {
  const at = present(field)
  if (at === undefined) return []
  if ('items' in at.value) return at.value.items
  problems.add(at, 'write a list')
  return []
}

/** Returns why a text is not allowed; undefined: it is. */
type TextCheck = (text: string) => string | undefined

/** The texts of a list, each checked. */
function readTexts(
  at: Located | undefined,
  problems: Problems,
  check: TextCheck,
): readonly string[] {
  return readItems(at, problems).flatMap((item) => {
    const text = scalarOf(item)
    const fault = typeof text === 'string' ? check(text) : 'write text, in quotes'
    if (fault !== undefined) problems.add(item, fault)
    return fault === undefined ? [text as string] : []
  })
}

/** One of the allowed texts; undefined if the value is absent or, with a problem, another one. */
function readChoice<T extends string>(
  at: Located | undefined,
  choices: readonly T[],
  problems: Problems,
): T | undefined {
  if (at === undefined) return undefined
  const found = choices.find((choice) => choice === scalarOf(at))
  if (found === undefined) problems.add(at, `write ${choices.join(' or ')}`)
  return found
}

/** A boolean; undefined if the field is absent or null or, with a problem, no boolean. */
function readFlag(field: Located | undefined, problems: Problems): boolean | undefined {
  const at = present(field)
  if (at === undefined) return undefined
  const flag = scalarOf(at)
  if (typeof flag === 'boolean') return flag
  problems.add(at, 'write true or false')
  return undefined
}

/** Undefined for a field that is left out, or null. */
function present(at: Located | undefined): Located | undefined {
  return at === undefined || scalarOf(at) === null ? undefined : at
}

/** The scalar at a position; undefined for a map, a list, or text that is not readable YAML. */
function scalarOf({ value }: Located): string | number | boolean | null | undefined {
  return 'scalar' in value ? value.scalar : undefined
}

/** The problems of a file in the order of its lines: the first ten. */
class Problems {
  readonly #all: string[] = []

  get all(): readonly string[] {
    return this.#all
  }

  /** `audit.yaml:3:10: rules[0].level: "metadata": write None, …` */
  add({ at, path: field, value }: Located, remedy: string): void {
    const shown = 'scalar' in value && value.scalar !== null ? quote(value.scalar) : undefined
    const message = 'unreadable' in value ? value.unreadable : remedy
    this.#add(describeFault({ at, field, value: shown, message }))
  }

  addUnknown({ fieldAt: at, path: field }: Located, meant: string | undefined): void {
    this.#add(describeFault({ at, field, value: undefined, message: unknownField(meant) }))
  }

  addFault({ at, message }: Fault): void {
    this.#add(describeFault({ at, field: '', value: undefined, message }))
  }

  #add(text: string): void {
    if (this.#all.length === MAX_PROBLEMS) this.#all.push('there is more; correct these first')
    if (this.#all.length <= MAX_PROBLEMS) this.#all.push(text)
  }
}

/** How many bytes are read: one more than a policy may have, so that a longer file is noticed. */
const MAX_BYTES = (1 << 20) + 1

/**
 * The audit policy of a file.
 * @throws NP_APISERVER_AUDIT_POLICY with every problem of the file, each with its line and remedy
 */
export async function readAuditPolicy(path: string): Promise<AuditPolicy> {
  return parseAuditPolicy(await readText(path), path)
}

/** The audit policy of a text; `file` is for messages. */
export function parseAuditPolicy(text: string, file: string): AuditPolicy {
  const problems = new Problems()
  const located = locateYaml({ file, text })
  if (located.ok) {
    const policy = decodePolicy(located.root, problems)
    if (problems.all.length === 0) return policy
  } else for (const fault of located.faults) problems.addFault(fault)
  throw refused(`the audit policy cannot be used: ${problems.all.join('; ')}`, file)
}

async function readText(path: string): Promise<string> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of createReadStream(path, { end: MAX_BYTES - 1 })) {
      chunks.push(chunk as Buffer)
    }
  } catch (cause) {
    const code = systemCode(cause)
    throw refused(`the audit policy ${path} cannot be read: ${code}`, path, cause)
  }
  return Buffer.concat(chunks).toString()
}

function refused(message: string, object: string, cause?: unknown): NodeProxyError {
  const hint = 'check --audit-policy-file; docs/operate/audit.md describes the format'
  return new NodeProxyError('NP_APISERVER_AUDIT_POLICY', message, { object, hint, cause })
}
