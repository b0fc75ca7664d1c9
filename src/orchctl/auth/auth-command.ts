import type { Command } from 'commander'
import { NodeProxyError } from '../../lib/error.ts'
import { arrayAt, type Json, type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { type CommandContext, runs } from '../command/command-module.ts'
import { documentText } from '../output/documents.ts'
import { outputFormat } from '../output/output-format.ts'
import { columns } from '../output/server-table.ts'
import type { Api } from '../session/api.ts'
import { failureError } from '../session/call-failure.ts'
import type { ExitCode } from '../usage/exit-code.ts'
import { canI } from './can-i.ts'

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
async function whoAmI(
  _args: readonly string[],
  { output }: { readonly output?: string },
  context: CommandContext,
): Promise<ExitCode> {
  const format = await outputFormat(output)
  const { api } = await context.session()
  const review = await reviewOf(api)
  if (format.type !== 'table') {
    const isTerminal = context.host.stdout.isTTY === true
    context.print(await documentText(format, review, { isTerminal }))
    return 0
  }
  const extra = Object.entries(objectAt(review, 'status', 'userInfo', 'extra'))
  const info = objectAt(review, 'status', 'userInfo')
  const rows = [
    ['ATTRIBUTE', 'VALUE'],
    ['Username', stringAt(info, 'username')],
    ...(stringAt(info, 'uid') === '' ? [] : [['UID', stringAt(info, 'uid')]]),
    ...(arrayAt(info, 'groups').length === 0 ? [] : [['Groups', listText(info['groups'])]]),
    ...extra
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, values]) => {
        return [`Extra: ${key}`, listText(values)]
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

function listText(values: Json | undefined): string {
  return `[${Array.isArray(values) ? values.map(String).join(' ') : ''}]`
}
