import { arrayAt, type Json, objectAt, stringAt } from '../../lib/json.ts'
import type { CommandContext } from '../command/context.ts'
import { columns } from '../output/columns.ts'
import { documentText } from '../output/documents.ts'
import { outputFormat } from '../output/output-format.ts'
import type { ExitCode } from '../usage/exit-code.ts'

/** `orchctl auth whoami`. */
export async function whoAmI(
  _args: readonly string[],
  { output }: { readonly output?: string },
  context: CommandContext,
): Promise<ExitCode> {
  const format = await outputFormat(output)
  const { api } = await context.session()
  const review = await api.send({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  })
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

function listText(values: Json | undefined): string {
  return `[${Array.isArray(values) ? values.map(String).join(' ') : ''}]`
}
