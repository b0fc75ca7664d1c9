import {
  arrayAt,
  type Json,
  type JsonObject,
  scalarText,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import type { CommandContext } from '../command/command-module.ts'
import { jsonText } from '../output/documents.ts'
import { columns } from '../output/server-table.ts'
import { oneLine } from '../output/terminal-text.ts'
import { type ExitCode, usageError } from '../usage/exit-code.ts'
import { resourceOf } from './resource-of.ts'

/** The flags of `orchctl auth can-i`. */
export interface CanIFlags {
  readonly subresource?: string
  readonly list?: boolean
  readonly allNamespaces?: boolean
  readonly quiet?: boolean
  readonly output?: string
  readonly headers: boolean
}

/** `orchctl auth can-i VERB RESOURCE [NAME]`: exit code 0 if it is allowed, 1 if not. */
export async function canI(
  args: readonly string[],
  flags: CanIFlags,
  context: CommandContext,
): Promise<ExitCode> {
  if (flags.output !== undefined && flags.output !== 'json') {
    throw usageError(`-o ${quote(flags.output)} is no output format`, 'write json')
  }
  if (flags.list === true) {
    if (args.length > 0) throw usageError('--list has no operands')
    return listRules(flags, context)
  }
  const [verb, resource, name] = args
  if (verb === undefined || resource === undefined) {
    throw usageError('a verb and a resource are missing', 'write can-i VERB RESOURCE, or --list')
  }
  const { api } = await context.session()
  const review = await api.send({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: await specOf({ verb, resource, name }, flags, context),
    },
  })
  const isAllowed = valueAt(review, 'status', 'allowed') === true
  if (flags.quiet !== true) {
    const text = flags.output === 'json' ? jsonText(review, { isTerminal: true }) : answer(review)
    context.print(text)
  }
  return isAllowed ? 0 : 1
}

function answer(review: Json): string {
  if (valueAt(review, 'status', 'allowed') === true) return 'yes\n'
  const reason = oneLine(stringAt(review, 'status', 'reason'))
  const failure = oneLine(stringAt(review, 'status', 'evaluationError'))
  return `no${reason === '' ? '' : ` - ${reason}`}${failure === '' ? '' : ` - ${failure}`}\n`
}

interface Question {
  readonly verb: string
  readonly resource: string
  readonly name: string | undefined
}

async function specOf(
  { verb, resource, name }: Question,
  flags: CanIFlags,
  context: CommandContext,
): Promise<JsonObject> {
  if (resource.startsWith('/')) {
    if (name !== undefined || flags.subresource !== undefined) {
      throw usageError('a path has no name and no subresource')
    }
    return { nonResourceAttributes: { verb, path: resource } }
  }
  const [type = '', inside, ...rest] = resource.split('/')
  if (rest.length > 0 || (inside !== undefined && name !== undefined)) {
    throw usageError(`${quote(resource)} is not TYPE or TYPE/NAME`, '--subresource names a part')
  }
  const session = await context.session()
  const found = await resourceOf(type, context)
  const isInside = found.namespaced && flags.allNamespaces !== true
  return {
    resourceAttributes: {
      verb,
      group: found.group,
      resource: found.plural,
      name: inside ?? name ?? '',
      subresource: flags.subresource ?? '',
      namespace: isInside ? session.namespace : '',
    },
  }
}

interface ListFlags {
  readonly output?: string
  readonly quiet?: boolean
  readonly headers: boolean
}

/** `orchctl auth can-i --list`: all that is allowed in the namespace. */
async function listRules(flags: ListFlags, context: CommandContext): Promise<ExitCode> {
  const { api, namespace } = await context.session()
  const review = await api.send({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectRulesReview',
      spec: { namespace },
    },
  })
  if (valueAt(review, 'status', 'incomplete') === true) {
    const why = stringAt(review, 'status', 'evaluationError')
    context.notice(`warning: the list may be incomplete: ${why}`)
  }
  if (flags.quiet === true) return 0
  if (flags.output === 'json') {
    context.print(jsonText(review, { isTerminal: true }))
    return 0
  }
  const rows = [
    ...arrayAt(review, 'status', 'resourceRules').flatMap(resourceRows),
    ...arrayAt(review, 'status', 'nonResourceRules').flatMap((rule) =>
      arrayAt(rule, 'nonResourceURLs').map((url) => {
        return ['', `[${scalarText(url)}]`, '[]', listText(rule, 'verbs')]
      }),
    ),
  ]
  const header = flags.headers
    ? [['Resources', 'Non-Resource URLs', 'Resource Names', 'Verbs']]
    : []
  const unique = new Map(rows.map((row) => [row.join('\0'), row]))
  const sorted = [...unique]
    .sort(([a], [b]) => (order(a) < order(b) ? -1 : 1))
    .map(([, row]) => row)
  context.print(columns([...header, ...sorted]))
  return 0
}

/** The key by which rules are sorted: resources first, then paths. */
function order(key: string): string {
  return key.startsWith('\0') ? `\uffff${key}` : key
}

function resourceRows(rule: Json): readonly (readonly string[])[] {
  const groups = arrayAt(rule, 'apiGroups')
  return arrayAt(rule, 'resources').flatMap((resource) =>
    groups.map((group) => {
      const name = scalarText(resource)
      const full = group === '' ? name : `${name}.${scalarText(group)}`
      return [full, '[]', listText(rule, 'resourceNames'), listText(rule, 'verbs')]
    }),
  )
}

function listText(rule: Json, field: string): string {
  return `[${arrayAt(rule, field).map(String).join(' ')}]`
}
