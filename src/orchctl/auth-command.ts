import type { Command } from 'commander'
import { NodeProxyError } from '../lib/error.ts'
import {
  arrayAt,
  type Json,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
  valueAt,
} from '../lib/json.ts'
import { quote } from '../lib/quote.ts'
import { resourceOf } from './discovery/catalogue.ts'
import { jsonText, printDocument } from './output/documents.ts'
import { formatAmong, outputFormat } from './output/output-format.ts'
import { columns } from './output/server-table.ts'
import { oneLine } from './output/terminal-text.ts'
import { type Api, reviewAccess } from './session/api.ts'
import { failureError } from './session/call-failure.ts'
import { type CommandContext, type Run, runs } from './session/command-module.ts'
import { type ExitCode, usageError } from './usage/exit-code.ts'

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
const canI: Run<CanIFlags> = async (args, flags, context) => {
  formatAmong(flags.output, 'json')
  if (flags.list === true) {
    if (args.length > 0) throw usageError('--list has no operands')
    return listRules(flags, context)
  }
  const [verb, resource, name] = args
  if (verb === undefined || resource === undefined) {
    throw usageError('a verb and a resource are missing', 'write can-i VERB RESOURCE, or --list')
  }
  const { api } = await context.session()
  const spec = await specOf({ verb, resource, name }, flags, context)
  const review = await reviewAccess(api, 'SelfSubjectAccessReview', spec)
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

/** `orchctl auth can-i --list`: all that is allowed in the namespace. */
async function listRules(flags: CanIFlags, context: CommandContext): Promise<ExitCode> {
  const { api, namespace } = await context.session()
  const review = await reviewAccess(api, 'SelfSubjectRulesReview', { namespace })
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
        return ['', `[${scalarText(url)}]`, '[]', listText(arrayAt(rule, 'verbs'))]
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
      return [
        full,
        '[]',
        listText(arrayAt(rule, 'resourceNames')),
        listText(arrayAt(rule, 'verbs')),
      ]
    }),
  )
}

function listText(values: readonly Json[]): string {
  return `[${values.map(String).join(' ')}]`
}

/** The versions of the review, the newest first: v1 is of Kubernetes 1.28. */
const VERSIONS = ['v1', 'v1beta1', 'v1alpha1']

const EXAMPLES = `
Prints yes or no; exit code 0 means yes, 1 no.

Examples:
  orchctl auth can-i list pods -n team
  orchctl auth can-i get secrets/db --as=system:serviceaccount:team:robot
  orchctl auth can-i create serviceaccounts --subresource=token
  orchctl auth can-i get /metrics
  orchctl auth can-i --list
`

/** `orchctl auth`. */
export function define(command: Command, context: CommandContext): void {
  const check = command
    .command('can-i')
    .description('Check whether a request is allowed.')
    .argument('[verb]', 'get, list, watch, create, update, patch, delete, …')
    .argument('[resource]', 'TYPE, TYPE/NAME, or a path such as /metrics')
    .argument('[name]')
    .option('--subresource <name>', 'such as log, token or status')
    .option('--list', 'all that is allowed in the namespace')
    .option('-A, --all-namespaces', 'check it for all namespaces')
    .option('-q, --quiet', 'print nothing; the exit code is the answer')
    .option('-o, --output <format>', 'json: the answer of the server')
    .option('--no-headers', 'with --list: no line with the names of the columns')
    .addHelpText('after', EXAMPLES)
  runs(check, context, canI)
  const who = command
    .command('whoami')
    .description('Show as whom the server knows the user.')
    .option('-o, --output <format>', 'json|yaml|jsonpath=TEMPLATE')
  runs(who, context, whoAmI)
}

/** `orchctl auth whoami`. */
const whoAmI: Run<{ readonly output?: string }> = async (_args, { output }, context) => {
  const format = await outputFormat(output)
  const { api } = await context.session()
  const review = await reviewOf(api)
  if (format.type !== 'table') {
    await printDocument(format, review, context)
    return 0
  }
  const extra = Object.entries(objectAt(review, 'status', 'userInfo', 'extra'))
  const info = objectAt(review, 'status', 'userInfo')
  const rows = [
    ['ATTRIBUTE', 'VALUE'],
    ['Username', stringAt(info, 'username')],
    ...(stringAt(info, 'uid') === '' ? [] : [['UID', stringAt(info, 'uid')]]),
    ...(arrayAt(info, 'groups').length === 0
      ? []
      : [['Groups', listText(arrayAt(info, 'groups'))]]),
    ...extra
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, values]) => {
        return [`Extra: ${key}`, listText(arrayAt(values))]
      }),
  ]
  context.print(columns(rows))
  return 0
}

/** @throws NP_ORCHCTL_NO_RESOURCE where the server has none of the versions, and refusals of the server */
async function reviewOf(api: Api): Promise<JsonObject> {
  for (const version of VERSIONS) {
    const group = `authentication.k8s.io/${version}`
    const answer = await api.request({
      method: 'POST',
      path: `/apis/${group}/selfsubjectreviews`,
      body: { apiVersion: group, kind: 'SelfSubjectReview' },
    })
    if (answer.ok) return answer.value.body
    if (answer.failure.code !== 404) throw failureError(answer.failure)
  }
  throw new NodeProxyError('NP_ORCHCTL_NO_RESOURCE', 'the server has no SelfSubjectReview', {
    hint: 'Kubernetes has it since 1.28; orchctl auth can-i --list shows the permissions',
  })
}
